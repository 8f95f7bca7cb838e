// Search as you type, keyboard, history and copying. Every page works without this module.
// No text becomes HTML or code here: XMLHttpRequest parses answers, where nothing runs.

const REFINE_AFTER = 250; // milliseconds without typing until meaning is searched too
const RETRY_AFTER = 1_000; // milliseconds until a server that has not answered is asked again
const PATIENCE = 60_000; // milliseconds until a server that is silent counts as gone
const MAX_RECENT = 10;
const box = document.getElementById("q");
const status = document.getElementById("status");
const live = document.body.classList.contains("live");
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// Storage may be turned off: then nothing is remembered.
function stored(storage, name, fallback) {
  try { return JSON.parse(window[storage].getItem(`qmd.${name}`)) ?? fallback; } catch { return fallback; }
}
function store(storage, name, value) {
  try { window[storage].setItem(`qmd.${name}`, JSON.stringify(value)); } catch { /* see above */ }
}

// Fetch a page as an inert document. Returns the request, so that it can be aborted.
function load(address, then, failed = () => {}) {
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.timeout = PATIENCE;
  request.onerror = request.ontimeout = failed;
  request.onload = () => {
    if (request.responseURL && new URL(request.responseURL).pathname === "/sign-in") location.reload();
    else if (request.response && request.status < 400) then(request.response);
    else failed();
  };
  request.open("GET", address);
  request.send();
  return request;
}

// --- Search as you type

let typing = null, refining = null, timer = 0, retry = 0, active = -1, pointed = false;
let fresh = false; // whether nothing was typed since one came to the page
const homeView = document.body.classList.contains("home") ? $("#view") : null;

const parameters = () => new URLSearchParams(location.search);
const options = () => $$("#hits .hits > li > a");
// Those that are not folded away.
const shown = () => options().filter((option) => !option.closest(".less:not([open])"));

// Ask for a part of the results. If no answer comes, say so, and do it again until one does.
function ask(query, more, then, again) {
  return load(address(query, more), (answer) => { lost(false); then($("#view", answer)); }, () => {
    lost(true);
    clearTimeout(retry);
    retry = setTimeout(again, RETRY_AFTER);
  });
}

// What is shown belongs to an earlier query as long as the server does not answer.
function lost(now) {
  $("#view").classList.toggle("old", now);
  if (now && $("#stage")) $("#stage").textContent = "";
  if (!now) $("#lost")?.remove();
  else if (!$("#lost")) {
    const notice = document.createElement("p");
    notice.id = "lost";
    notice.className = "notice problem";
    notice.setAttribute("role", "alert");
    notice.textContent = status.dataset.lost;
    $("#main").prepend(notice);
  }
}

function address(query, more) {
  const given = parameters();
  const asked = new URLSearchParams({ q: query, ...more });
  for (const name of ["mode", "sort", "scores"]) if (given.get(name) && !asked.has(name)) asked.set(name, given.get(name));
  return `/?${asked}`;
}

function adopt(view, keepFacets) {
  const old = $("#view"), unfolded = $(".less[open]", old), pane = $("#preview");
  if (keepFacets && old.classList.contains("found")) {
    for (const id of ["controls", "list"]) $(`#${id}`, old).replaceWith(document.importNode($(`#${id}`, view), true));
    old.dataset.mode = view.dataset.mode;
  } else {
    const open = $(".fold", old)?.open;
    old.replaceWith(document.importNode(view, true));
    if (open) $(".fold").open = true;
    if (pane) $("#view").append(pane);
  }
  if (unfolded && $(".less")) $(".less").open = true;
  decorate();
}

function decorate() {
  active = -1;
  const list = $("#hits");
  if (!$("#completions")) {
    box?.setAttribute("aria-expanded", String(Boolean(list)));
    box?.removeAttribute("aria-activedescendant");
  }
  spread();
  for (const code of $$("[data-facet=lang] bdi").filter((each) => /^[a-z]{2}$/.test(each.textContent))) {
    code.textContent = new Intl.DisplayNames(document.documentElement.lang, { type: "language" }).of(code.textContent);
  }
  if (!list) { beside(); return; }
  for (const each of $$(".hits", list)) {
    each.setAttribute("role", "listbox");
    each.setAttribute("aria-label", (each.closest(".less")?.firstElementChild ?? $("#list > .count > span")).textContent);
  }
  options().forEach((option, at) => {
    option.parentElement.setAttribute("role", "none");
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.id = `hit-${at}`;
  });
  if (!pointed) beside(shown()[0]);
}

// Where there is room nothing is folded.
function spread() {
  if (wide.matches) $$(".fold").forEach((fold) => { fold.open = true; });
}

function announce() {
  const count = $(".count > span")?.textContent ?? $("#list .notice")?.textContent ?? "";
  status.textContent = [count, $("#stage")?.textContent].filter(Boolean).join(", ");
}

// --- Completion of the filter at the end of the box

const UNFINISHED = /(?:^|\s)-?(?:[\p{L}_][\w.-]*:("[^"]*|[^\s"]*)|\[[^\]]*)$/u;
let completing = null;
const completions = () => $$("#completions li");

function complete(opened) {
  completing?.abort();
  if (!(opened || UNFINISHED.test(box.value)) || box.selectionStart < box.value.length) { fold(); return; }
  completing = load(`/complete?${new URLSearchParams({ q: box.value })}`, (answer) => {
    fold();
    if (document.activeElement !== box || !$("#completions li", answer)) return;
    $(".search").append(document.importNode($("#completions", answer), true));
    box.setAttribute("aria-controls", "completions");
    box.setAttribute("aria-expanded", "true");
    status.textContent = `${$("#completions").ariaLabel}: ${completions().length}`;
  }, fold);
}

function fold() {
  if (!$("#completions")) return;
  $("#completions").remove();
  box.setAttribute("aria-controls", "main");
  box.setAttribute("aria-expanded", String(Boolean($("#hits"))));
  box.removeAttribute("aria-activedescendant");
}

function take(item) {
  box.value = item.dataset.query;
  box.focus();
  box.dispatchEvent(new InputEvent("input"));
}

// Returns whether the key was for the list of completions.
function completionKeys(event) {
  const all = completions(), at = all.findIndex((item) => item.ariaSelected === "true");
  if (!all.length) {
    if (event.key !== "ArrowDown" || box.value) return false;
    complete(true);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const next = (at + (event.key === "ArrowDown" ? 1 : at < 0 ? 0 : -1) + all.length) % all.length;
    all.forEach((item, place) => item.setAttribute("aria-selected", String(place === next)));
    box.setAttribute("aria-activedescendant", all[next].id);
    all[next].scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter" && at >= 0) take(all[at]);
  else if (event.key === "Tab" && at >= 0 && !event.shiftKey) take(all[at]);
  else if (event.key === "Escape") { completing?.abort(); fold(); }
  else return false;
  return true;
}

function type() {
  fresh = false;
  const query = box.value.trim();
  clearTimeout(timer);
  clearTimeout(retry);
  typing?.abort();
  refining?.abort();
  if (!query) {
    lost(false);
    history.replaceState(null, "", "/");
    if (homeView) { $("#view").replaceWith(homeView); recent(); box.setAttribute("aria-expanded", "false"); status.textContent = ""; }
    return;
  }
  const mode = parameters().get("mode");
  if (mode !== "meaning") {
    typing = ask(query, { mode: "words", live: 1, part: "list" }, (view) => {
      adopt(view, true);
      $("#view").dataset.mode = mode ?? "";
      if (mode !== "words" && parameters().get("sort") !== "date") unadvise();
    }, type);
  }
  timer = setTimeout(() => { follow(); refine(query, mode, { live: 1 }); }, REFINE_AFTER);
}

// Let the address and the title follow the query; at each key a browser would take too long.
function follow() {
  const query = box.value.trim();
  if (!query || query === parameters().get("q")) return;
  history[parameters().get("q") ? "replaceState" : "pushState"](null, "", address(query));
  document.title = `${query} – qmd`;
}

// Advice follows if nothing is found by meaning either.
function unadvise() {
  if ($("#list > .empty")) $("#list > .empty").hidden = true;
}

// Ask again with the meaning of the query, and with the counts beside the results.
function refine(query, mode, more) {
  const byDate = parameters().get("sort") === "date";
  refining?.abort();
  const stage = $("#stage");
  if (stage && !byDate && mode !== "words") {
    stage.textContent = `${status.dataset.refining} …`;
    unadvise();
  }
  refining = ask(query, { mode: mode || (byDate ? "words" : "both"), part: "all", ...more }, (view) => {
    typing?.abort();
    // What was found by words stays if the other search fails, or finds nothing.
    const kept = options().length && ($("#list [role=alert]", view) || !$("#hits", view));
    if (kept) { if (stage) stage.textContent = ""; announce(); return; }
    if (options().length && (pointed || active >= 0)) hold(view);
    else adopt(view, false);
    announce();
  }, () => (more ? type() : refine(query, mode)));
}

// A result is pointed at or chosen: add what is new below, and offer the better order.
function hold(view) {
  const files = (list) => list.map((option) => option.dataset.file);
  const before = files(shown()), after = files($$(".hits > li > a", view)).slice(0, before.length);
  if (before.join("\n") === after.join("\n")) {
    const place = active;
    adopt(view, false);
    if (place >= 0) choose(place);
    return;
  }
  const chosen = options()[active]?.dataset.file, all = files(options());
  const better = view.cloneNode(true), list = $("#hits"), less = $(".less", view) && document.importNode($(".less", view), true);
  // What is shown stays, also if it is less related than what comes below.
  const added = $$(".hits > li", view).filter((item) => !all.includes(item.firstElementChild.dataset.file) && !item.closest(".less"));
  $("#hits > .hits")?.append(...added.map((item) => document.importNode(item, true)));
  for (const id of ["controls", "stage"]) $(`#${id}`).replaceWith(document.importNode($(`#${id}`, view), true));
  const unfolded = $(".less[open]");
  if (less && !unfolded) {
    const here = files($$("#hits > .hits > li > a"));
    $$(".hits > li", less).filter((item) => here.includes(item.firstElementChild.dataset.file)).forEach((item) => item.remove());
    $(".less")?.remove();
    if ($(".hits > li", less)) list.append(less);
  }
  decorate();
  const place = files(options()).indexOf(chosen);
  if (place >= 0) choose(place);
  $(".better")?.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "better";
  button.textContent = status.dataset.better;
  button.onclick = () => { adopt(better, false); box.focus(); };
  $("#list > .after").prepend(button);
}

// Add the results that follow. The address has them all, so that going back shows them.
function more(link) {
  load(`${link.href}&part=all`, (answer) => {
    const before = options().length, less = $("#hits .less"), number = /[\d,.]+/;
    const items = (selector) => $$(selector, answer).map((item) => document.importNode(item, true));
    (less ? $(".hits", less) : $("#hits > .hits")).append(...items(less ? ".hits > li" : "#hits > .hits > li"));
    if (!less && $(".less", answer)) $("#hits").append(document.importNode($(".less", answer), true));
    if (less) less.firstElementChild.textContent = less.firstElementChild.textContent.replace(number, $$("li", less).length);
    else {
      const count = $(".count > span", answer).textContent;
      $(".count > span").textContent = $(".less", answer) ? count : count.replace(number, "1");
    }
    const next = $("#more", answer);
    if (next) link.href = next.href;
    else link.remove();
    decorate();
    const shown = new URL(location);
    shown.searchParams.set("n", options().length);
    shown.searchParams.delete("from");
    history.replaceState(null, "", shown);
    options()[before]?.focus();
    announce();
  });
}

function choose(at) {
  const all = options();
  all[active]?.setAttribute("aria-selected", "false");
  active = Math.max(-1, Math.min(at, all.length - 1));
  if (active < 0) { box.removeAttribute("aria-activedescendant"); return; }
  const fold = all[active].closest(".less");
  if (fold) fold.open = true;
  all[active].setAttribute("aria-selected", "true");
  beside(all[active]);
  box.setAttribute("aria-activedescendant", all[active].id);
  all[active].scrollIntoView({ block: "nearest" });
}

// The address of the section that is shown above a passage.
const sectionOf = (option) => $("[data-href]", option)?.dataset.href;

function visit(event, address) {
  leave(event.target.closest("#hits a")?.href ?? options()[active]?.href);
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
  else location.assign(address);
}

function keys(event) {
  if (event.isComposing) return;
  if (completionKeys(event)) { event.preventDefault(); return; }
  const all = options();
  if (event.key === "ArrowDown" && all.length) choose(active + 1);
  else if (event.key === "ArrowUp" && active >= 0) choose(active - 1);
  else if (event.key === "Enter" && active >= 0) visit(event, (event.shiftKey && sectionOf(all[active])) || all[active].href);
  else if (fresh && box.value && event.key === "/") box.select();
  else if (event.key === "Escape" && (active >= 0 || box.value)) {
    if (active >= 0) choose(-1);
    else { box.value = ""; if (live) type(); }
  } else return;
  event.preventDefault();
}

// --- What was searched for and found, in this browser only

function remember(query) {
  if (!query || !stored("localStorage", "remember", true)) return;
  const others = stored("localStorage", "recent", []).filter((each) => each !== query);
  store("localStorage", "recent", [query, ...others].slice(0, MAX_RECENT));
}

function leave(chosen = "") {
  if (live) follow();
  remember(box.value.trim());
  store("sessionStorage", "hits", { back: location.href, chosen, hits: options().map((option) => option.href) });
}

// Whoever comes to the page goes on typing, or with the result that was read.
function enter() {
  box.setSelectionRange(box.value.length, box.value.length);
  fresh = true;
  const { back, chosen } = stored("sessionStorage", "hits", {});
  if (back === location.href && chosen) choose(options().findIndex((option) => option.href === chosen));
}

function recent() {
  const section = $("#recent-searches");
  if (!section) return;
  const searches = stored("localStorage", "recent", []);
  const checkbox = $("input", section);
  checkbox.checked = stored("localStorage", "remember", true);
  checkbox.onchange = () => {
    store("localStorage", "remember", checkbox.checked);
    if (!checkbox.checked) store("localStorage", "recent", []);
    recent();
  };
  $("button", section).onclick = () => { store("localStorage", "recent", []); recent(); };
  $("ul", section).replaceChildren(...searches.map((query) => {
    const link = document.createElement("a");
    link.href = `/?${new URLSearchParams({ q: query })}`;
    link.textContent = query;
    link.dir = "auto";
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  $("button", section).hidden = !searches.length;
  section.hidden = !searches.length && checkbox.checked;
}

function trail() {
  const nav = $("#trail");
  const found = stored("sessionStorage", "hits", null);
  const paths = found?.hits.map((href) => new URL(href).pathname) ?? [];
  const at = paths.indexOf(location.pathname);
  if (!nav || at < 0) return;
  const place = $("[data-text]", nav);
  place.textContent = place.dataset.text.replace("{n}", at + 1).replace("{of}", paths.length);
  const to = (name, href) => {
    const link = $(`[data-to=${name}]`, nav);
    if (href) link.href = href;
    else { link.setAttribute("aria-disabled", "true"); link.removeAttribute("href"); }
  };
  to("back", found.back);
  to("previous", found.hits[at - 1]);
  to("next", found.hits[at + 1]);
  nav.hidden = false;
}

// --- Reading: links to sections, the section in view, and quotations

function sections() {
  const prose = $(".prose[data-link]"), headings = $$(".doctitle > h1[id], .prose > :is(h1, h2, h3, h4, h5, h6)[id]");
  for (const heading of headings) {
    const link = document.createElement("a");
    link.className = "anchor";
    link.href = `#${heading.id}`;
    link.setAttribute("aria-label", prose.dataset.link);
    link.dataset.copy = "section";
    heading.append(link);
  }
  const outline = new Map($$(".outline a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  if (!outline.size) return;
  let current = null, asked = 0;
  const look = () => {
    asked = 0;
    // The last sections of a document never come to the top.
    const end = scrollY + innerHeight > document.documentElement.scrollHeight - 4;
    const above = end ? headings : headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
    const link = outline.get((above.at(-1) ?? headings[0])?.id);
    if (!link || link === current) return;
    current?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    current = link;
  };
  document.addEventListener("scroll", () => { asked ||= requestAnimationFrame(look); }, { passive: true });
  $("#outline").addEventListener("click", (event) => { if (event.target.closest("a") && !wide.matches) $("#outline").hidePopover(); });
  look();
}

// Code has a button that copies it.
function copiers() {
  for (const block of navigator.clipboard ? $$(".prose .code") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copier";
    button.textContent = status.dataset.copier;
    button.dataset.copy = $("code", block).textContent;
    block.append(button);
  }
}

// --- Previews: of a link under the pointer or with the focus, and of a result beside a wide list

const PREVIEW_AFTER = 350; // milliseconds
const PREVIEWED = '.prose a[href^="/read/"], .links a[href^="/read/"]';
const roomy = matchMedia("(min-width: 75rem)");
let previewing = null, soon = 0;

// The title and the first blocks of a document, or all of it, without ids, which may be here too.
function excerpt(answer, most) {
  const part = document.createElement("div"), title = $(".doctitle", answer), prose = $(".prose", answer), from = $("#hit", answer);
  if (title) part.append(document.importNode(title, true));
  const blocks = [...(prose?.children ?? [])], at = most ? Math.max(0, blocks.findIndex((block) => block === from || block.contains(from))) : 0;
  part.append(...blocks.slice(at, most ? at + most : undefined).map((block) => document.importNode(block, true)));
  if (!prose) part.append(...$$(".source code", answer).slice(0, 40).map((line) => document.importNode(line, true)));
  $$("[id]", part).forEach((element) => { if (element.id === "hit") element.classList.add("previewed-hit"); element.removeAttribute("id"); });
  part.className = "prose";
  part.dir = "auto";
  return part;
}

function unpreview() {
  clearTimeout(soon);
  previewing?.abort();
  $("#peek")?.remove();
}

function peek(link) {
  const url = new URL(link.href), hash = decodeURIComponent(url.hash.slice(1));
  if (url.pathname === location.pathname) return;
  previewing = load(url.href, (answer) => {
    const heading = hash && answer.getElementById(hash);
    if (heading && !$("#hit", answer)) heading.id = "hit";
    $("#peek")?.remove();
    const box = document.createElement("div"), at = link.getBoundingClientRect();
    box.id = "peek";
    box.setAttribute("role", "tooltip");
    box.append(excerpt(answer, 6));
    document.body.append(box);
    $$("a, button, [tabindex]", box).forEach((element) => { element.removeAttribute("href"); element.removeAttribute("tabindex"); });
    const above = at.bottom + box.offsetHeight + 12 > innerHeight && at.top > box.offsetHeight;
    box.style.top = `${scrollY + (above ? at.top - box.offsetHeight - 8 : at.bottom + 8)}px`;
    box.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - 8))}px`;
  });
}

// Beside the list: the chosen result, the one under the pointer, or the first one; none if there are none.
function beside(option) {
  clearTimeout(soon);
  if (!option) $("#preview")?.remove();
  if (!option || !roomy.matches || $("#preview")?.dataset.of === option.href) return;
  soon = setTimeout(() => {
    previewing?.abort();
    previewing = load(option.href, (answer) => {
      if (!option.isConnected) return;
      $("#preview")?.remove();
      const pane = document.createElement("section");
      pane.id = "preview";
      pane.dataset.of = option.href;
      pane.tabIndex = 0;
      pane.setAttribute("aria-label", status.dataset.preview);
      pane.append(excerpt(answer));
      $("#view").append(pane);
      const hit = $(".previewed-hit", pane);
      if (hit) pane.scrollTop = hit.offsetTop - pane.clientHeight / 3;
    });
  }, PREVIEW_AFTER);
}

function preview(event) {
  const link = event.target.closest?.(PREVIEWED), option = event.target.closest?.("#hits li > a");
  if (option) beside(option);
  if (!link || link.closest("#preview, #peek")) return;
  unpreview();
  soon = setTimeout(() => peek(link), PREVIEW_AFTER);
}

// What is selected in a document, as a Markdown quotation with the lines that it is from.
function quotation() {
  const selection = getSelection(), prose = $(".prose, .source");
  const text = selection.toString().trim();
  if (!text || !prose?.contains(selection.anchorNode) || !prose.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0);
  const lines = (node) => {
    const block = (node.nodeType === 1 ? node : node.parentElement).closest("[data-lines], .source li[value]");
    if (!block) return null;
    if (!block.dataset.lines) return [Number(block.value), Number(block.value)];
    const [first, end] = block.dataset.lines.split(" ").map(Number);
    return [first, Math.max(first, end - 1)];
  };
  // A selection that ends before the first letter of a block has nothing of this block.
  const last = range.endOffset === 0 && range.endContainer !== range.startContainer ? null : lines(range.endContainer);
  const first = lines(range.startContainer), end = last ?? first;
  const place = first && end ? `:${first[0]}${end[1] > first[0] ? `-${end[1]}` : ""}` : "";
  const quoted = text.split(/\n{2,}/).map((part) => `> ${part.split(/\s*\n\s*/).join("\n> ")}`).join("\n>\n");
  return { range, text: `${quoted}\n\n(${$("#quote").dataset.file}${place})\n` };
}

function offerQuotation() {
  const button = $("#quote"), found = quotation();
  if (!button) return;
  button.hidden = !found || !navigator.clipboard;
  if (button.hidden) return;
  const box = found.range.getBoundingClientRect();
  button.style.top = `${box.bottom + scrollY + 8}px`;
  button.style.left = `${Math.max(8, Math.min(box.left + scrollX, document.documentElement.clientWidth - 190))}px`;
  button.dataset.copy = found.text;
}

// A folder of the tree gets what is in it when it is opened first.
function unfold(event) {
  const branch = event.target;
  if (!branch.open || !branch.dataset.from) return;
  load(branch.dataset.from, (answer) => {
    const inside = document.importNode($("#folder", answer), true);
    inside.removeAttribute("id");
    branch.lastElementChild.replaceWith(inside);
    delete branch.dataset.from;
  });
}

// The time of today or yesterday in the words of the page's language; null for other days.
function moment(time) {
  const day = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
  const days = Math.round((day(time) - day(new Date())) / 86_400_000), language = document.documentElement.lang;
  if (!(days === 0 || days === -1)) return null;
  const name = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(days, "day");
  return `${name} ${new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hour12: false }).format(time)}`;
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  $("meta[name=color-scheme]").content = root.dataset.theme;
  document.cookie = `qmd-theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
}

let match = -1;
function toMatch(step) {
  const all = $$("article mark");
  if (!all.length) return;
  all[match]?.classList.remove("current");
  match = (match + step + all.length) % all.length;
  all[match].classList.add("current");
  const folded = all[match].closest("details:not([open])");
  if (folded) folded.open = true;
  all[match].scrollIntoView({ block: "center" });
}

function help() {
  if ($("dialog")) { $("dialog").showModal(); return; }
  load("/help", (answer) => {
    const dialog = document.createElement("dialog");
    dialog.append(document.importNode($("#help-text", answer), true));
    dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
    document.body.append(dialog);
    dialog.showModal();
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && $("#peek")) { unpreview(); return; }
  const writing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && box) {
    event.preventDefault();
    box.focus();
    box.select();
    return;
  }
  if (writing || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  // The arrows choose a result.
  if (live && event.target === document.body && ["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) {
    if (options().length) { box.focus({ preventScroll: true }); keys(event); }
  } else if (event.key === "/" && box) { event.preventDefault(); box.focus(); box.select(); }
  else if (event.key === "?") help();
  else if (event.key === "n" || event.key === "p") $(`#trail a[data-to=${event.key === "n" ? "next" : "previous"}][href]`)?.click();
  else if (event.key === "j" || event.key === "k") toMatch(event.key === "j" ? 1 : -1);
  else if (event.key === "Escape" && box) box.focus();
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const label = copy.textContent;
    if (copy.hash) location.hash = copy.hash;
    const told = copy.closest("[data-done]")?.dataset.done ?? status.dataset.done;
    await navigator.clipboard?.writeText(["link", "section"].includes(copy.dataset.copy) ? location.href : copy.dataset.copy);
    status.textContent = told;
    copy.textContent = copy.hash ? "✓" : told;
    setTimeout(() => { copy.textContent = label; }, 1500);
  } else if (event.target.closest("#help-link") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    help();
  } else if (event.target.closest("#more") && live && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    more(event.target.closest("#more"));
  } else if (event.target.closest("#hits a")) {
    // A click that comes from a key has no place.
    const part = event.shiftKey && !event.detail ? event.target : event.target.closest("[data-href]");
    const section = part && (part.dataset.href ?? sectionOf(part));
    if (section) visit(event, section);
    else leave(event.target.closest("#hits a").href);
  }
});

// Exchange a part of the page. A control in it keeps the focus, or the part gets it.
function exchange(id, answer) {
  const old = $(`#${id}`), part = document.importNode($(`#${id}`, answer), true);
  if (old.isEqualNode(part)) return;
  const at = $$("a, button, input, summary", old).indexOf(document.activeElement), inside = old.contains(document.activeElement);
  old.replaceWith(part);
  if (inside) ($$("a, button, input, summary", part)[at] ?? part).focus();
}

// A job may be started in another tab too.
function watch() {
  const active = Boolean($("#job[data-active]"));
  if (!$("#job")) return;
  setTimeout(() => load("/upkeep/job", (answer) => {
    exchange("job", answer);
    // What is written in an editor stays.
    if (active && !$("#job[data-active]") && !$("#collections details[open]")) load("/upkeep", (page) => exchange("collections", page));
    watch();
  }, watch), active ? 300 : 1_500);
}

// How many texts have vectors, as long as a page that was seen said that some have none.
function vectors(pause = 3_000) {
  if ($("[data-waiting]")) store("sessionStorage", "waiting", true);
  if (!$("#vectors") || !stored("sessionStorage", "waiting", false)) return;
  load("/upkeep/vectors", (answer) => {
    const before = $("#vectors").textContent;
    exchange("vectors", answer);
    const now = $("#vectors").textContent, next = now === before ? Math.min(2 * pause, 60_000) : 3_000;
    if (now) setTimeout(vectors, next, next);
    else store("sessionStorage", "waiting", false);
  });
}

const wide = matchMedia("(min-width: 60.01rem)");

if (box) {
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", "main");
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("keydown", keys);
  box.addEventListener("input", (event) => { if (!event.isComposing) complete(); });
  box.addEventListener("compositionend", () => complete());
  box.addEventListener("blur", () => { completing?.abort(); fold(); });
  // The box keeps the focus, so that the list stays until the click.
  $(".search").addEventListener("pointerdown", (event) => { if (event.target.closest("#completions")) event.preventDefault(); });
  $(".search").addEventListener("click", (event) => { const item = event.target.closest("#completions li"); if (item) take(item); });
  $(".search").addEventListener("submit", (event) => {
    const query = box.value.trim();
    remember(query);
    if (!query) event.preventDefault();
  });
}
if (live) {
  box.addEventListener("input", (event) => { if (!event.isComposing) type(); });
  box.addEventListener("compositionend", type);
  document.addEventListener("pointerover", (event) => { pointed = Boolean(event.target.closest?.("#hits")); });
  document.addEventListener("scroll", () => { pointed = false; }, { passive: true });
  addEventListener("popstate", () => location.reload());
  decorate();
  const view = $("#view.found");
  enter();
  addEventListener("pageshow", (event) => { if (event.persisted) { box.focus({ preventScroll: true }); enter(); } });
  if (view && !view.dataset.mode) refine(box.value.trim(), "");
}
if (navigator.clipboard) document.documentElement.classList.add("copies");
spread();
recent();
trail();
watch();
vectors();
sections();
copiers();
document.addEventListener("pointerover", preview);
document.addEventListener("focusin", preview);
document.addEventListener("toggle", unfold, true);
for (const name of ["pointerout", "focusout"]) document.addEventListener(name, (event) => { if (event.target.closest?.(PREVIEWED)) unpreview(); });
document.addEventListener("selectionchange", offerQuotation);
$("#theme").hidden = false;
$("#theme").onclick = switchTheme;
for (const time of $$(".documents time, .rows time, .items time")) time.textContent = moment(new Date(time.dateTime)) ?? time.textContent;
const related = $("#related[data-from]");
if (related) load(related.dataset.from, (answer) => exchange("related", answer));
$("#hit")?.scrollIntoView({ block: "center" });
