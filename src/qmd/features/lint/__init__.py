"""The faults of a wiki: pages without links to them, broken links, stubs, twins, contradictions."""
