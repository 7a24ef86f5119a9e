"""What a person sees in the terminal: progress, results, differences, in words and numbers."""
