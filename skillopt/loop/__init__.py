"""How a document learns: pure functions, one file per stage."""
