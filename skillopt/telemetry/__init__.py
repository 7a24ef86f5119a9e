"""How a process tells what it does: lines of its log, figures to be scraped."""
