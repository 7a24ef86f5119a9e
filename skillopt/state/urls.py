"""One Redis URL, and what each part of the system makes of it.

People name one URL. Its database (0 if none is given) is Celery's; the state lives two further,
so that flushing or losing the broker's database touches no state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from skillopt.domain.hosts import is_loopback
from skillopt.errors import ConfigError

STATE_DB_OFFSET: Final = 2

_SOCKET_SCHEMES: Final = ("unix", "redis+socket")
_TCP_SCHEMES: Final = ("redis", "rediss")
_HIDDEN: Final = "***"


@dataclass(frozen=True)
class _Address:
    scheme: str
    username: str
    password: str
    #: host[:port], empty for a socket.
    host: str
    #: The socket's path, empty for TCP.
    path: str
    db: int
    options: tuple[tuple[str, str], ...]

    @property
    def is_socket(self) -> bool:
        return self.scheme in _SOCKET_SCHEMES

    @property
    def login(self) -> str:
        if not self.username and not self.password:
            return ""
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"{quote(self.username, safe='')}{password}@"


def state_url(url: str) -> str:
    """Give the URL of the state's database, in the form redis-py reads."""
    address = _parse(url)
    return _for_redis_py(address, address.db + STATE_DB_OFFSET)


def queue_url(url: str) -> str:
    """Give the URL of Celery's database, in the form redis-py reads."""
    address = _parse(url)
    return _for_redis_py(address, address.db)


def databases_needed(url: str) -> int:
    """Give the number of databases that a server must have for a URL."""
    return _parse(url).db + STATE_DB_OFFSET + 1


@dataclass(frozen=True)
class Access:
    """How a URL reaches its server, and what proves who asks."""

    #: A socket or an address of this machine.
    local: bool
    encrypted: bool
    #: Whether the server's certificate is checked (only where it is encrypted).
    verified: bool
    password: bool


def access_of(url: str) -> Access:
    """Say how safe the way to a server is; raises ConfigError for a URL that is not usable."""
    address = _parse(url)
    host = urlsplit(f"//{address.host}").hostname or ""
    options = dict(address.options)
    return Access(
        local=address.is_socket or is_loopback(host),
        encrypted=address.scheme == "rediss",
        verified=options.get("ssl_cert_reqs", "required") == "required",
        password=bool(address.password),
    )


def _for_redis_py(address: _Address, db: int) -> str:
    if address.is_socket:
        query = urlencode([("db", str(db)), *address.options])
        return f"unix://{address.login}{quote(address.path)}?{query}"
    query = f"?{urlencode(address.options)}" if address.options else ""
    return f"{address.scheme}://{address.login}{address.host}/{db}{query}"


def broker_url(url: str) -> str:
    """Give the URL of Celery's database, in the form kombu reads.

    kombu takes no options but those of TLS, and would not check certificates unless told to.
    """
    address = _parse(url)
    if address.is_socket:
        return f"redis+socket://{address.login}{quote(address.path)}?virtual_host={address.db}"
    options = dict(option for option in address.options if option[0].startswith("ssl_"))
    if address.scheme == "rediss":
        options.setdefault("ssl_cert_reqs", "required")
    query = f"?{urlencode(options)}" if options else ""
    return f"{address.scheme}://{address.login}{address.host}/{address.db}{query}"


def redacted(url: str) -> str:
    """Give the URL without its password, for messages; also of a URL that is not usable."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if ":" in login:
        login = f"{login.partition(':')[0]}:{_HIDDEN}"
    query = "&".join(
        f"{name}={_HIDDEN}" if "password" in name.lower() else f"{name}{equals}{value}"
        for name, equals, value in (pair.partition("=") for pair in parts.query.split("&"))
    )
    shown = f"{parts.scheme}://{login}{at}{host}{parts.path}"
    return f"{shown}?{query}" if query else shown


def _parse(url: str) -> _Address:
    parts = urlsplit(url)
    if parts.scheme not in (*_TCP_SCHEMES, *_SOCKET_SCHEMES):
        raise ConfigError(
            f"Redis URL {redacted(url)!r} is not understood; write redis://host:port/0, "
            "rediss://host:port/0 or unix:///path/to/redis.sock?db=0"
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    login, _, host = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    in_path = "" if parts.scheme in _SOCKET_SCHEMES else unquote(parts.path).strip("/")
    named = [options.pop(name, "") for name in ("db", "virtual_host")]
    db = next((value for value in named if value), in_path or "0")
    address = _Address(
        scheme=parts.scheme,
        username=options.pop("username", "") or unquote(username),
        password=options.pop("password", "") or unquote(password),
        host=host,
        path=unquote(parts.path) if parts.scheme in _SOCKET_SCHEMES else "",
        db=_database(db, url),
        options=tuple(options.items()),
    )
    if not (address.path if address.is_socket else address.host):
        missing = "path of the socket" if address.is_socket else "host"
        raise ConfigError(f"Redis URL {redacted(url)!r} has no {missing}; add it")
    return address


def _database(text: str, url: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(
            f"database {text!r} in Redis URL {redacted(url)!r} is not a number; write e.g. 0"
        )
    return int(text)
