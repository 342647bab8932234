"""Asks a service for N groups, one after the other, and stores nothing.

Opens a connection for each call, as requests.get() and urllib do. Trusts the certificate in the file CERT. Prints
requests per second. Usage: loop.py BASE_URL API_KEY REQUESTS CERT
"""

import json
import ssl
import sys
import time
from urllib.request import Request, urlopen

base_url, api_key, requests, cert = sys.argv[1:]
trust = ssl.create_default_context(cafile=cert)
headers = {"authorization": f"Token {api_key}", "content-type": "application/json"}

started_at = time.monotonic()
for i in range(int(requests)):
    group = {
        "user_group_id": f"tenant-{i}",
        "name": f"Company {i}",
        "mapping": {"40": f"ds-{i}"},
        "properties": {"plan": "gold", "seats": i},
    }
    request = Request(f"{base_url}/api/user", json.dumps(group).encode(), headers, method="GET")
    with urlopen(request, context=trust) as response:
        if json.load(response)["success"] != 1:
            sys.exit("the sandbox refused a request")
print(int(requests) / (time.monotonic() - started_at))
