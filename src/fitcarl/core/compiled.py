"""Compilation of loops over arrays, and the cache of compiled code.

All functions are compiled through this module, which decides about the cache in one place. Cached code is a pickle: a
process that can write it can run code in every process that loads it. The cache is therefore used only if its folder
can be written by this user and root only; otherwise functions are compiled at every start.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit

from fitcarl.core.code_digest import code_digest

_log = logging.getLogger(__name__)

_types: Any = numba.types

Loop = TypeVar("Loop", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parents[1]
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_PROBLEMS: dict[str, str | None] = {}
"""File → why its functions cannot be cached."""


def loop(*, inner: bool = False, **options: Any) -> Callable[[Loop], Loop]:
    """Compiles a function that reads and writes elements of its arguments and creates no arrays.

    References to arrays are not counted: the caller holds all of them. Counting would take most of the time of a short
    function whose arguments are tuples of many arrays.

    Args:
        inner: Whether it is called by compiled functions only; see ``array_function``.
        options: Further options of ``numba.njit``.
    """
    return array_function(inner=inner, _nrt=False, **options)


def array_function(*, inner: bool = False, **options: Any) -> Callable[[Loop], Loop]:
    """Compiles a function of arrays that may create arrays.

    Args:
        inner: Whether it is called by compiled functions only. The code that converts the arguments of a call from
            Python is left out then: with tuples of many arrays it is longer than the function. A call from Python, as
            in tests, works nevertheless, but compiles the function once more.
        options: Further options of ``numba.njit``.
    """

    def compile_function(function: Loop) -> Loop:
        problem = _problem_of(function)
        entries: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        compiled: Any = njit(cache=problem is None, nogil=True, **entries, **options)(function)
        _compile_once_for_all_integers(compiled)
        if inner:
            _compile_again_for_python(compiled, options)
        if problem is None:
            _tolerate_disk_errors(compiled._cache)
            _compile_again_after_changes(compiled)
        else:
            _report(problem)
        return cast(Loop, compiled)

    return compile_function


def cache_folder(function: Callable[..., Any]) -> Path | None:
    """The folder where the compiled code of a function is cached; None if it is not cached.

    Args:
        function: A compiled function.
    """
    path = function.stats.cache_path  # type: ignore[attr-defined]
    return None if path is None else Path(path)


def why_not_cached(function: Callable[..., Any]) -> str | None:
    """Why the compiled code of a function is not cached; None if it is.

    Args:
        function: A compiled function.
    """
    return None if cache_folder(function) is not None else _problem_of(function.py_func)  # type: ignore[attr-defined]


def _problem_of(function: Callable[..., Any]) -> str | None:
    """Why a function cannot be cached where numba would do so; the same for all functions of a file."""
    file = function.__code__.co_filename
    if file not in _PROBLEMS:
        _PROBLEMS[file] = _find_problem(function)
    return _PROBLEMS[file]


def _find_problem(function: Callable[..., Any]) -> str | None:
    try:
        return cache_problem(Path(str(njit(cache=True)(function).stats.cache_path)))
    except RuntimeError:  # neither NUMBA_CACHE_DIR, the package nor the user's cache can be written
        return "no folder for them can be written"


@lru_cache
def _report(problem: str) -> None:
    """Logs a problem once."""
    _log.info("compiled loops are not cached (%s), which takes time at every start; see fitcarl doctor", problem)


@lru_cache
def cache_problem(folder: Path) -> str | None:
    """Why code from a folder must not be loaded; None if it may.

    Inside the package everything is trusted: a user who can write there can replace the package itself.

    Args:
        folder: A folder for compiled code.
    """
    if os.name != "posix":
        return None
    folder = folder.resolve()
    if folder.is_relative_to(_PACKAGE):
        return None
    for path in (folder, *folder.parents):
        try:
            found = path.stat()
        except OSError as error:
            return f"{path} cannot be examined ({error.strerror})"
        if found.st_uid not in (_ROOT, os.geteuid()):
            return f"{path} belongs to another user"
        # Files in a sticky folder such as /tmp cannot be renamed or removed by others: those below it are safe.
        is_protected = path != folder and bool(found.st_mode & stat.S_ISVTX)
        if found.st_mode & _OTHERS and not is_protected and not _only_own_group(found):
            return f"{path} can be written by other users"
    return None


def _only_own_group(found: os.stat_result) -> bool:
    """Whether a folder can be written by its group only, and that is root's or the private group of this user."""
    if found.st_mode & stat.S_IWOTH:
        return False
    if found.st_gid == _ROOT:
        return True
    import grp
    import pwd

    try:
        group = grp.getgrgid(found.st_gid)
        return group.gr_name == pwd.getpwuid(os.geteuid()).pw_name and set(group.gr_mem) <= {group.gr_name}
    except KeyError:
        return False


def _compile_once_for_all_integers(compiled: Any) -> None:
    """Lets compiled callers pass integers as int64 only.

    Otherwise there would be one version for every constant and width that an integer argument has somewhere, or seems
    to have while the types of a caller are inferred. Results are the same: int32 is int64 in every sum or product.
    """
    call_template = compiled.get_call_template

    def get_call_template(arguments: Any, keywords: dict[str, Any]) -> Any:
        wide = {name: _widened(kind) for name, kind in keywords.items()}
        return call_template(tuple(_widened(kind) for kind in arguments), wide)

    compiled.get_call_template = get_call_template


def _widened(kind: Any) -> Any:
    """int64 for signed integers and their constants; other types as they are."""
    plain = _types.unliteral(kind)
    return _types.int64 if isinstance(plain, _types.Integer) and plain.signed else plain


def _compile_again_for_python(compiled: Any, options: dict[str, Any]) -> None:
    """Lets Python call a function that was compiled without an entry for Python: a call without one would crash."""
    twin: Any = njit(nogil=True, **options)(compiled.py_func)

    def add_overload(result: Any) -> None:
        """Keeps the code for compiled callers, but not as something to be called from Python."""
        compiled.overloads[tuple(result.signature.args)] = result

    compiled.add_overload = add_overload
    compiled._compile_for_args = twin._compile_for_args


def _tolerate_disk_errors(cache: Any) -> None:
    """Lets a function be compiled again if its cache cannot be read, and not be cached if the disk is full."""
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except OSError:
            return None

    def save_overload(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            return

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _compile_again_after_changes(compiled: Any) -> None:
    """Lets cached code be used only if the functions that it calls and the constants that it reads are the same, too.

    The digest is computed when code is looked for: all that the function refers to is defined then.
    """
    cache, file, own = compiled._cache, compiled._cache._cache_file, compiled._cache._cache_file._source_stamp
    load = cache.load_overload

    def load_overload(*arguments: Any) -> Any:
        file._source_stamp = own, code_digest(compiled.py_func)
        return load(*arguments)

    cache.load_overload = load_overload
