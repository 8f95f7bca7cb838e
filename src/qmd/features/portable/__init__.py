"""One file of an index for other machines, and copies between stores."""
