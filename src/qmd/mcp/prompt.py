"""The prompt `query`: a guide to searching, for agents."""

from __future__ import annotations

NAME = "query"
TITLE = "How to search with QMD"
DESCRIPTION = "How to search this knowledge base well, and which tool to choose when."

GUIDE = """\
# QMD - Quick Markdown Search

QMD searches collections of Markdown: notes, documentation, meeting transcripts.

## Available Tools

### 1. search (Fast keyword search)
Best for: words that you know are in the text.
- Ranks by BM25; needs no model, and answers in milliseconds
- Finds names, identifiers, error messages and "exact phrases"; `word*` finds longer words, `-word` excludes
- Use `collection` to search one collection only

### 2. vsearch (Semantic search)
Best for: ideas whose words you do not know.
- Compares meanings by vector, across languages
- Suits "how do I ..." and other questions
- Needs vectors: `status` says whether they exist
- Use `collection` to search one collection only

### 3. query (Hybrid search - highest quality)
Best for: questions that matter.
- Searches by keyword and by meaning, fuses both lists and reranks the best
- `pack: true` with `maxTokens: 500` gives whole passages, each once in a session, and says what was not \
found: the cheapest way to answer a question
- Slower than search; without vectors or models it answers from keywords, and `stages` says so
- `intent` says what you want to know, and changes what ranks first
- Instead of `query`, `searches` takes a list of your own: `lex` (keywords), `vec` (a question), `hyde` (a \
passage as the answer might read)
- Use `collection` or `collections` to search only some collections

### 4. get (Retrieve document)
Best for: reading one document that you found.
- Takes the address (`notes/a.md:12:20`), the path or the `#docid` of a result
- Reads only some lines: `file.md:100`, `file.md:100:20`, or `fromLine` and `maxLines`; or a section: \
`file.md#Restoring`
- `links: true` also lists the document's links and backlinks
- Suggests similar paths if the document does not exist

### 5. multi_get (Retrieve multiple documents)
Best for: reading several documents at once.
- Takes a glob: `journals/2025-05*.md`
- Or a list: `notes/a.md, notes/b.md, #abc123`
- Names files above `maxBytes` (10 KB) without reading them: use get for those

### 6. status (Index info)
Shows the collections, how many documents they hold, whether vectors exist, when they were last updated, and \
the most frequent fields and tags.

## Resources

Every document can also be read by its `qmd://` address:
- `resources/read` with the uri `qmd://collection/path/to/file.md`
- There is no list of resources: documents are found by searching

## Search Strategy

1. **Start with search** if you know the words
2. **Use vsearch** if keywords find nothing, or the question is about an idea
3. **Use query** if the answer matters and you must not miss the best documents
4. **Use get** to read a document around the `line` of its result, rather than all of it
5. **Use multi_get** to read several related files in one call

## Tips

- `score` estimates how likely a result is about the query: from 0.5 it is, from 0.3 it is related, below \
that it is about something else, and vsearch leaves it out, unless `minScore` is lower. Read a result to see \
if it answers
- Filters can be typed in a query: `tag:work`, `path:ops/`, `author:ann`, `after:2024`, `after:7d`, \
`link:notes/a.md`, `[status:draft]`, `[priority>=2]`, `[reviewed:*]`; `-` before one negates it
- Brackets with an unknown field, or with only a name among words, are text: `stages` says so
- A query of filters alone lists the documents that pass, newest first
- `collection: "notes"` searches only that collection; the error for an unknown name lists the known names
- Read a result's `context`: it says what kind of document it is
- Paths begin with the collection, as in `notes/pages/meeting.md`; a unique end of a path is enough
- Globs match whole paths, with or without the collection: `journals/2025-*.md`
- `indexedAt` says how old the index is: later changes of files are not in the results
"""
