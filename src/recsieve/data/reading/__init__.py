"""From a file or a data frame to coded rows: tables, delimited text, columns, dates, ids."""
