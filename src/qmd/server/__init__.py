"""What keeps running: an index that stays open, who may call it over HTTP, and life in the background."""
