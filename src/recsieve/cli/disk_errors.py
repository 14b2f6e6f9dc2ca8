"""What the errors of a disk mean, and what a user can do about them."""

import errno

_ELSEWHERE = "give another place, e.g. with --out"
_MEANING = {
    errno.EROFS: f"cannot be written, because its disk is read-only: {_ELSEWHERE}",
    errno.ENOTDIR: f"is in no folder, because a part of this path is a file: {_ELSEWHERE}",
    errno.EEXIST: f"is a file, but a folder is needed there: {_ELSEWHERE}",
    errno.EISDIR: "is a folder, but a file is needed there: give the name of a file",
    errno.EACCES: f"may not be read or written by you: change its permissions, or {_ELSEWHERE}",
    errno.EPERM: f"may not be changed by you: change its permissions, or {_ELSEWHERE}",
}


def in_words(error: OSError) -> str:
    """What was given, what that means and what to give, where that is known; else what the system says."""
    if error.filename and error.errno in _MEANING:
        return f"{error.filename} {_MEANING[error.errno]}."
    advice = " Free some space; files written earlier are intact." if error.errno == errno.ENOSPC else ""
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}.{advice}"
