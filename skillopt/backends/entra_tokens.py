"""Tokens of Entra ID for backends on Azure: one source per credential, shared by its endpoints."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from skillopt.domain.backend import AzureAuth
from skillopt.errors import AuthFailed, CallError, ConfigError, ConnectionFailed, ServerFailed

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncSupportsTokenInfo

#: Codes by which Entra ID names what is wrong, such as AADSTS7000215.
_ENTRA_CODE = re.compile(r"\bAADSTS\d+\b")
_FIXES: dict[AzureAuth, str] = {
    "azure_cli": "run `az login` as the user that the worker runs as",
    "default": "sign in with `az login`, or give the worker's machine an identity",
    "managed_identity": "give the worker's machine a managed identity, and name a user-assigned "
    "one with client_id",
}


class EntraTokens:
    """Gives a token that is valid now; it is fetched once, and again before it expires."""

    def __init__(self, credential: AsyncSupportsTokenInfo, scope: str, auth: AzureAuth) -> None:
        from azure.identity.aio import get_bearer_token_provider  # noqa: PLC0415 - slow to load

        self._credential = credential
        self._provide = get_bearer_token_provider(credential, scope)
        self._auth = auth
        #: The token given last, to be kept out of texts.
        self.last: str | None = None

    async def __call__(self) -> str:
        """Give a token; raises a CallError that names the fix, without the service's words."""
        from azure.core.exceptions import AzureError  # noqa: PLC0415

        try:
            self.last = await self._provide()
        except AzureError as error:
            raise _no_token(error, self._auth) from None
        except (KeyError, TypeError, ValueError) as error:
            # azure-identity lets through what it meets in an answer of another form.
            name = type(error).__name__
            raise ServerFailed(f"no token of Entra ID: its answer is not usable ({name})") from None
        return self.last

    async def close(self) -> None:
        await self._credential.close()


def open_tokens(auth: AzureAuth, client_id: str | None, scope: str) -> EntraTokens:
    """Make the source of tokens for one way to sign in; nothing is fetched yet."""
    try:
        credential = _credentials(client_id)[auth]()
    except ImportError as error:
        raise ConfigError(
            f"auth {auth!r} needs the package azure-identity, which is not installed; install "
            "it, or use auth: api_key"
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"auth {auth!r} is not possible here: {error}; check the AZURE_ variables of the "
            "worker's environment, or use another auth"
        ) from error
    return EntraTokens(credential, scope, auth)


def _credentials(client_id: str | None) -> dict[AzureAuth, Callable[[], AsyncSupportsTokenInfo]]:
    from azure.identity import aio  # noqa: PLC0415

    return {
        "azure_cli": aio.AzureCliCredential,
        "default": lambda: aio.DefaultAzureCredential(managed_identity_client_id=client_id),
        "managed_identity": lambda: aio.ManagedIdentityCredential(client_id=client_id),
    }


def _no_token(error: Exception, auth: AzureAuth) -> CallError:
    """Tell an identity that is missing or refused from a service that is away."""
    from azure.core.exceptions import (  # noqa: PLC0415
        HttpResponseError,
        ServiceRequestError,
        ServiceResponseError,
    )

    name = type(error).__name__
    if isinstance(error, ServiceRequestError | ServiceResponseError):
        return ConnectionFailed(
            f"no token of Entra ID: its service cannot be reached ({name})", may_be_billed=False
        )
    status = error.status_code if isinstance(error, HttpResponseError) else None
    if status is not None and (status == 429 or status >= 500):
        return ServerFailed(f"no token of Entra ID: its service answered HTTP {status}")
    code = _ENTRA_CODE.search(str(error))
    why = code.group() if code else name
    return AuthFailed(f"no token of Entra ID with auth {auth!r} ({why}); {_FIXES[auth]}")
