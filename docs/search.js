// Search on this site: adds up the scores of search-index.json, which tools/make_site_search.py makes by qmd.
(() => {
  const base = new URL(".", document.currentScript.src)
  const LIMIT = 12
  let index

  const none = { sections: [], terms: {}, words: {} } // a site that was built without the index
  const load = () =>
    (index ??= fetch(new URL("search-index.json", base)).then((answer) => (answer.ok ? answer.json() : none)))
  const split = (text) => text.toLowerCase().normalize("NFKC").match(/[\p{L}\p{N}]+/gu) ?? []

  /** The terms of a word; while it is being typed, those of the words that it begins. */
  function termsOf(words, word, typing) {
    if (Object.hasOwn(words, word)) return words[word]
    return typing ? Object.keys(words).filter((each) => each.startsWith(word)).flatMap((each) => words[each]) : []
  }

  function search({ sections, terms, words }, text) {
    const asked = split(text)
    const found = new Map()
    asked.forEach((word, place) => {
      const best = new Map() // of several terms of a word, the best counts
      for (const term of termsOf(words, word, place === asked.length - 1 && !text.endsWith(" "))) {
        const scores = terms[term] ?? []
        for (let at = 0; at < scores.length; at += 2)
          best.set(scores[at], Math.max(best.get(scores[at]) ?? 0, scores[at + 1]))
      }
      for (const [section, score] of best) {
        const [sum, matched] = found.get(section) ?? [0, 0]
        found.set(section, [sum + score, matched + 1])
      }
    })
    const value = ([sum, matched]) => (sum * matched) / asked.length
    return [...found].sort((a, b) => value(b[1]) - value(a[1])).slice(0, LIMIT).map(([at]) => sections[at])
  }

  function item([address, title, text]) {
    const link = document.createElement("a")
    link.href = new URL(address, base).href
    link.append(Object.assign(document.createElement("b"), { textContent: title }), ` ${text}`)
    const row = document.createElement("li")
    row.append(link)
    return row
  }

  const box = document.createElement("search")
  box.className = "qmd-search"
  box.innerHTML = '<input type="search" placeholder="Search" aria-label="Search" autocomplete="off"><ol hidden></ol>'
  const [input, list] = box.children
  document.querySelector(".md-header__inner")?.append(box)

  async function show() {
    const text = input.value
    const rows = text.trim() ? search(await load(), text).map(item) : []
    if (text !== input.value) return // more was typed meanwhile
    if (text.trim() && !rows.length) rows.push(Object.assign(document.createElement("li"), { textContent: "Nothing found." }))
    list.replaceChildren(...rows)
    list.hidden = !rows.length
  }

  input.addEventListener("focus", load, { once: true })
  input.addEventListener("input", show)
  box.addEventListener("keydown", (event) => {
    const stops = [input, ...list.querySelectorAll("a")]
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) stops[Math.min(Math.max(stops.indexOf(document.activeElement) + step, 0), stops.length - 1)].focus()
    else if (event.key === "Enter" && document.activeElement === input) stops[1]?.click()
    else if (event.key === "Escape") list.hidden = true
    else return
    if (event.key !== "Enter") event.preventDefault()
  })
  document.addEventListener("click", (event) => box.contains(event.target) || (list.hidden = true))
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(input|textarea|select)$/i.test(document.activeElement?.tagName)) return
    event.preventDefault()
    input.focus()
  })
})()
