"""recsieve simulate"""
