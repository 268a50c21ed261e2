"""Settings: what holds here, and who said it. The environment comes before the project's file, that before the
tenant's, that before what is bundled."""

from vancetope.settings.keys import KEYS, VARIABLES, Key
from vancetope.settings.loading import FILE as PROJECT_FILE
from vancetope.settings.loading import load, project_of, settings_from
from vancetope.settings.secrets import Secret, address, addresses, key_from_environment, secrets, shown
from vancetope.settings.servers import KINDS, Server
from vancetope.settings.values import PROJECT_FOLDER, Settings, Source, Value, tenant_folder

__all__ = [
    "KEYS",
    "KINDS",
    "PROJECT_FILE",
    "PROJECT_FOLDER",
    "VARIABLES",
    "Key",
    "Secret",
    "Server",
    "Settings",
    "Source",
    "Value",
    "address",
    "addresses",
    "key_from_environment",
    "load",
    "project_of",
    "secrets",
    "settings_from",
    "shown",
    "tenant_folder",
]
