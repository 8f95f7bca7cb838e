"""Keep an index as the files are: follow changes of folders, scan what changed, and embed it."""
