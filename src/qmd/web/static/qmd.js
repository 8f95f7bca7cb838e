// Search as you type, keyboard, history and copying. Every page works without this module.
// No text is ever turned into HTML or code here: answers are parsed by XMLHttpRequest, where nothing runs.

const REFINE_AFTER = 250; // milliseconds without typing until meaning is searched too
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
function load(address, then) {
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.onload = () => {
    if (request.responseURL && new URL(request.responseURL).pathname === "/sign-in") location.reload();
    else if (request.response) then(request.response);
  };
  request.open("GET", address);
  request.send();
  return request;
}

// --- Search as you type

let typing = null, refining = null, timer = 0, active = -1, waiting = null, pointed = false;
const homeView = document.body.classList.contains("home") ? $("#view") : null;

const parameters = () => new URLSearchParams(location.search);
const options = () => $$("#hits > li > a");

function address(query, more) {
  const given = parameters();
  const asked = new URLSearchParams({ q: query, ...more });
  for (const name of ["mode", "sort", "scores"]) if (given.get(name) && !asked.has(name)) asked.set(name, given.get(name));
  return `/?${asked}`;
}

function adopt(view, keepFacets) {
  const old = $("#view");
  if (keepFacets && old.classList.contains("found")) {
    for (const id of ["controls", "list"]) $(`#${id}`, old).replaceWith(document.importNode($(`#${id}`, view), true));
    old.dataset.mode = view.dataset.mode;
  } else {
    const open = $(".fold", old)?.open;
    old.replaceWith(document.importNode(view, true));
    if (open) $(".fold").open = true;
  }
  decorate();
}

function decorate() {
  active = -1;
  waiting = null;
  const list = $("#hits");
  box?.setAttribute("aria-expanded", String(Boolean(list)));
  box?.removeAttribute("aria-activedescendant");
  if (wide.matches) $$(".fold").forEach((fold) => { fold.open = true; });
  if (!list) return;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", $("#list").getAttribute("aria-label"));
  options().forEach((option, at) => {
    option.parentElement.setAttribute("role", "none");
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.id = `hit-${at}`;
  });
}

function announce() {
  const count = $(".count > span")?.textContent ?? $("#list .notice")?.textContent ?? "";
  status.textContent = [count, $("#stage")?.textContent].filter(Boolean).join(", ");
}

function type() {
  const query = box.value.trim();
  clearTimeout(timer);
  typing?.abort();
  refining?.abort();
  if (!query) {
    history.replaceState(null, "", "/");
    if (homeView) { $("#view").replaceWith(homeView); recent(); box.setAttribute("aria-expanded", "false"); status.textContent = ""; }
    return;
  }
  const mode = parameters().get("mode");
  if (mode !== "meaning") {
    typing = load(address(query, { mode: "words", live: 1, part: 1 }), (answer) => {
      adopt($("#view", answer), true);
      $("#view").dataset.mode = mode ?? "";
    });
  }
  timer = setTimeout(() => { follow(); refine(query, mode); }, REFINE_AFTER);
}

// Let the address and the title follow the query. A browser takes too long for that to do it at each key.
function follow() {
  const query = box.value.trim();
  if (!query || query === parameters().get("q")) return;
  history[parameters().get("q") ? "replaceState" : "pushState"](null, "", address(query));
  document.title = `${query} – qmd`;
}

// Ask again with the meaning of the query, and with the counts beside the results.
function refine(query, mode) {
  const byDate = parameters().get("sort") === "date";
  refining?.abort();
  const stage = $("#stage");
  if (stage && !byDate && mode !== "words") stage.textContent = `${status.dataset.refining} …`;
  refining = load(address(query, { mode: mode || (byDate ? "words" : "both"), part: 1 }), (answer) => {
    const view = $("#view", answer);
    // What was found by words stays if the other search fails, or finds nothing.
    const kept = options().length && ($("#list [role=alert]", view) || !$("#hits", view));
    if (kept) { if (stage) stage.textContent = ""; announce(); return; }
    if (options().length && (pointed || active >= 0)) hold(view);
    else adopt(view, false);
    announce();
  });
}

// Somebody points at a result or has chosen one: add what is new below, and offer the better order.
function hold(view) {
  const before = options().map((option) => option.dataset.file);
  const after = $$("#hits > li > a", view).map((option) => option.dataset.file);
  if (before.join("\n") === after.slice(0, before.length).join("\n") && after.length === before.length) {
    const place = active;
    adopt(view, false);
    if (place >= 0) choose(place);
    return;
  }
  const list = $("#hits");
  for (const option of $$("#hits > li > a", view)) {
    if (before.includes(option.dataset.file)) continue;
    const item = document.importNode(option.parentElement, true);
    item.setAttribute("role", "none");
    item.firstElementChild.setAttribute("role", "option");
    item.firstElementChild.setAttribute("aria-selected", "false");
    item.firstElementChild.id = `hit-${list.children.length}`;
    list.append(item);
  }
  const words = $("#stage", view)?.textContent;
  if (words && $("#stage")) $("#stage").textContent = words;
  waiting = view;
  $(".better")?.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "better";
  button.textContent = status.dataset.better;
  button.onclick = () => { adopt(view, false); box.focus(); };
  $(".after").prepend(button);
}

function choose(at) {
  const all = options();
  all[active]?.setAttribute("aria-selected", "false");
  active = Math.max(-1, Math.min(at, all.length - 1));
  if (active < 0) { box.removeAttribute("aria-activedescendant"); return; }
  all[active].setAttribute("aria-selected", "true");
  box.setAttribute("aria-activedescendant", all[active].id);
  all[active].scrollIntoView({ block: "nearest" });
}

function keys(event) {
  if (event.isComposing) return;
  const all = options();
  if (event.key === "ArrowDown" && all.length) choose(active + 1);
  else if (event.key === "ArrowUp" && active >= 0) choose(active - 1);
  else if (event.key === "Enter" && active >= 0) {
    leave();
    if (event.ctrlKey || event.metaKey) window.open(all[active].href, "_blank", "noopener");
    else location.assign(all[active].href);
  } else if (event.key === "Escape" && (active >= 0 || box.value)) {
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

function leave() {
  if (live) follow();
  remember(box.value.trim());
  store("sessionStorage", "hits", { back: location.href, hits: options().map((option) => option.href) });
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

let match = -1;
function toMatch(step) {
  const all = $$("article mark");
  if (!all.length) return;
  all[match]?.classList.remove("current");
  match = (match + step + all.length) % all.length;
  all[match].classList.add("current");
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
  const writing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && box) {
    event.preventDefault();
    box.focus();
    box.select();
    return;
  }
  if (writing || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  if (event.key === "/" && box) { event.preventDefault(); box.focus(); box.select(); }
  else if (event.key === "?") help();
  else if (event.key === "n" || event.key === "p") $(`#trail a[data-to=${event.key === "n" ? "next" : "previous"}][href]`)?.click();
  else if (event.key === "j" || event.key === "k") toMatch(event.key === "j" ? 1 : -1);
  else if (event.key === "Escape" && box) box.focus();
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const label = copy.textContent;
    await navigator.clipboard.writeText(copy.dataset.copy === "link" ? location.href : copy.dataset.copy);
    copy.textContent = status.textContent = copy.closest(".copy").dataset.done;
    setTimeout(() => { copy.textContent = label; }, 1500);
  } else if (event.target.closest("#help-link") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    help();
  } else if (event.target.closest("#hits a")) leave();
});

// A job in progress: ask for it again until it is done.
function watch() {
  if ($("#job[data-active]")) setTimeout(() => load("/upkeep/job", (answer) => {
    $("#job").replaceWith(document.importNode($("#job", answer), true));
    if (!$("#job[data-active]")) location.reload();
    else watch();
  }), 700);
}

const wide = matchMedia("(min-width: 60.01rem)");

if (box) {
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", "main");
  box.setAttribute("aria-expanded", "false");
  box.addEventListener("keydown", keys);
  $(".search").addEventListener("submit", (event) => {
    remember(box.value.trim());
    if (!box.value.trim()) event.preventDefault();
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
  if (view && !view.dataset.mode) refine(box.value.trim(), "");
  if (view && document.activeElement === document.body) box.setSelectionRange(box.value.length, box.value.length);
}
if (navigator.clipboard) $$(".copy").forEach((each) => { each.hidden = false; });
recent();
trail();
watch();
$("#hit")?.scrollIntoView({ block: "center" });
