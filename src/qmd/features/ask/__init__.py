"""`ask`: answers of a model of the user, each of whose sentences has a quotation that was checked."""
