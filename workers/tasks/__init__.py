"""One file per kind of job: decode, call the library, give what is to be committed."""
