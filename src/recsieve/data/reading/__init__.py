"""From a file or a frame to coded rows: tables, delimited text, columns, dates, ids."""
