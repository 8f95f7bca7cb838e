"""Models beyond the built-in ones: GGUF files by llama.cpp, and servers with the API of OpenAI."""
