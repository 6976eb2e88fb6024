"""A mail server of aiosmtpd: python3 smtp-server.py '{"tls": "none|starttls", "auth": ["user", "password"], ...}'.

Prints its port, then each letter it accepted, one JSON per line. Ends with its standard input.
"""
import asyncio
import base64
import json
import logging
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

logging.disable()
warnings.simplefilter("ignore")
said = json.loads(sys.argv[1])


def tell(**fact):
    print(json.dumps(fact), flush=True)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        replies = said.get("replies", [])
        reply = replies.pop(0) if replies else "250 OK"
        if reply == "silence":
            await asyncio.sleep(3600)
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        else:
            tell(refused=reply)
        return reply

    async def handle_DATA(self, server, session, envelope):
        tell(
            sender=envelope.mail_from,
            to=envelope.rcpt_tos,
            tls=session.ssl is not None,
            user=session.auth_data if isinstance(session.auth_data, str) else None,
            content=base64.b64encode(envelope.original_content).decode(),
        )
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    user, password = data.login.decode(), data.password.decode()
    return AuthResult(success=[user, password] == said["auth"], handled=False, auth_data=user)


def make():
    options = {}
    if said.get("tls") == "starttls":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(said["certificate"], said["key"])
        options["tls_context"] = context
    if "auth" in said:
        options.update(authenticator=authenticate, auth_require_tls=False, auth_required=True)
    return SMTP(Handler(), enable_SMTPUTF8=True, **options)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(make, "127.0.0.1", 0)
    tell(port=server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
