"""Studies of `audit` and `auto` on data whose noise is known; each is a program that goes on where it was stopped."""
