"""The prompt `query`: a guide to searching, for an agent to read (M51)."""

from __future__ import annotations

NAME = "query"
TITLE = "How to search with QMD"
DESCRIPTION = "How to search this knowledge base well, and which tool to choose when."

GUIDE = """\
# QMD - Quick Markdown Search

QMD searches collections of Markdown: notes, documentation, meeting transcripts.

## Available Tools

### 1. search (Fast keyword search)
Best for: words that you know stand in the text.
- Ranks by BM25; needs no model, and answers in milliseconds
- Finds names, identifiers, error messages and "exact phrases"; `word*` finds longer words, `-word` excludes
- Use `collection` to search one collection only

### 2. vsearch (Semantic search)
Best for: ideas whose words you do not know.
- Compares meanings by vector, across languages
- Suits "how do I ..." and other questions
- Needs vectors: `status` says whether there are any
- Use `collection` to search one collection only

### 3. query (Hybrid search - highest quality)
Best for: questions that matter.
- Searches by keyword and by meaning, fuses both lists and reranks the best
- Slower than search; without vectors or models it answers from keywords, and `stages` says so
- `intent` says what you are after, and steers what ranks first
- Instead of `query`, `searches` takes a list of your own: `lex` (keywords), `vec` (a question), `hyde` (a \
passage as the answer might read)
- Use `collection` or `collections` to search those only

### 4. get (Retrieve document)
Best for: reading one document that you found.
- Takes the path or the `#docid` of a result
- Reads some lines only: `file.md:100`, `file.md:100:20`, or `fromLine` and `maxLines`
- Suggests similar paths where there is no such document

### 5. multi_get (Retrieve multiple documents)
Best for: reading several documents at once.
- Takes a glob: `journals/2025-05*.md`
- Or a list: `notes/a.md, notes/b.md, #abc123`
- Names files above `maxBytes` (10 KB) without reading them: use get for those

### 6. status (Index info)
Shows the collections, how many documents they hold, whether vectors exist, and when they were last updated.

## Resources

Every document can also be read by its `qmd://` address:
- `resources/read` with the uri `qmd://collection/path/to/file.md`
- There is no list of resources: documents are found by searching

## Search Strategy

1. **Start with search** where you know the words
2. **Use vsearch** where keywords find nothing, or the question is about an idea
3. **Use query** where the answer matters and the best documents must not be missed
4. **Use get** to read a document around the `line` of its result, rather than all of it
5. **Use multi_get** to read several related files in one call

## Tips

- `minScore: 0.5` leaves weak results out
- `collection: "notes"` searches that collection only; an unknown name is answered with the known ones
- Read a result's `context`: it says what kind of document it is
- Paths begin with the collection, as in `notes/pages/meeting.md`; where only one ends so, the end is enough
- Globs match whole paths, with or without the collection: `journals/2025-*.md`
- `indexedAt` says how old the index is: files changed since then are found as they were
"""
