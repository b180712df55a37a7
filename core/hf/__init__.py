"""Reading a Hugging Face `config.json`: text, keys, number formats, and one dialect per family of models."""
