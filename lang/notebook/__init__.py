"""What Weft shows in the cells of notebooks: pictures, arrays, pages, progress, and tracebacks of the user's lines."""
