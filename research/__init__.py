"""What stands behind the documentation and is not installed with recsieve: the paper's results, studies, pages."""
