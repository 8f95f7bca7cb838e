"""Markdown: its blocks, links, tags and markup. No other module looks for the signs of Markdown.

CommonMark, tables, footnotes and wikilinks are read by a library, whose door is `parser`. What only other
programs read (Obsidian, Logseq, Hugo, Jekyll, MDX, MyST, Kramdown, Docusaurus) is found here, if its sign
occurs. All positions are characters, and every function takes linear time.
"""
