"""Looking at everything a run depends on before it is started."""
