#!/usr/bin/env python3
"""Writes the conversations of this folder anew: two ends of OpenSSL, by way of Python's ssl, that talk in memory.
Those that are renegotiated are of its commands.

Needs Python 3.8 or later over OpenSSL 1.1.1 or 3, and the command openssl. See README.md for the form of the files.
"""
import os, socket, ssl, subprocess, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
NO_ENCRYPT_THEN_MAC = 1 << 19  # SSL_OP_NO_ENCRYPT_THEN_MAC

# name, ciphers of OpenSSL, kind of certificate, version, encrypt-then-MAC
CASES = [
    ('rsa-aes128-cbc-sha', 'AES128-SHA', 'rsa', 'TLSv1_2', True),
    ('rsa-aes256-cbc-sha256-mte', 'AES256-SHA256', 'rsa', 'TLSv1_2', False),
    ('ecdhe-ecdsa-aes128-cbc-sha', 'ECDHE-ECDSA-AES128-SHA', 'ec', 'TLSv1_2', True),
    ('ecdhe-ecdsa-aes128-cbc-sha-mte', 'ECDHE-ECDSA-AES128-SHA', 'ec', 'TLSv1_2', False),
    ('ecdhe-ecdsa-aes128-cbc-sha256', 'ECDHE-ECDSA-AES128-SHA256', 'ec', 'TLSv1_2', True),
    ('ecdhe-ecdsa-aes256-cbc-sha384', 'ECDHE-ECDSA-AES256-SHA384', 'ec', 'TLSv1_2', True),
    ('ecdhe-ecdsa-aes256-cbc-sha384-mte', 'ECDHE-ECDSA-AES256-SHA384', 'ec', 'TLSv1_2', False),
    ('rsa-aes256-gcm', 'AES256-GCM-SHA384', 'rsa', 'TLSv1_2', True),
    ('dhe-rsa-chacha20', 'DHE-RSA-CHACHA20-POLY1305', 'rsa', 'TLSv1_2', True),
    ('ecdhe-ecdsa-aes128-ccm', 'ECDHE-ECDSA-AES128-CCM', 'ec', 'TLSv1_2', True),
    ('tls10-ecdhe-ecdsa-aes128-cbc-sha', 'ECDHE-ECDSA-AES128-SHA', 'ec', 'TLSv1', True),
    ('tls13-aes256-gcm', None, 'ec', 'TLSv1_3', True),
]

RENEGOTIATED = [
    ('ecdhe-ecdsa-aes128-gcm', 'ECDHE-ECDSA-AES128-GCM-SHA256'),
    ('ecdhe-ecdsa-aes128-cbc-sha', 'ECDHE-ECDSA-AES128-SHA'),
]


def certificate(kind, folder):
    key, cert = (os.path.join(folder, f'{kind}.{what}') for what in ('key', 'pem'))
    how = ['rsa:2048'] if kind == 'rsa' else ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    subprocess.run(['openssl', 'req', '-x509', '-newkey', *how, '-nodes', '-subj', '/CN=broker', '-days', '36500',
                    '-keyout', key, '-out', cert], check=True, capture_output=True)
    return key, cert


class Ends:
    def __init__(self, contexts, session):
        self.steps, self.bios = [], [[ssl.MemoryBIO(), ssl.MemoryBIO()] for _ in range(2)]
        client, server = contexts
        self.client = client.wrap_bio(*self.bios[0], server_hostname='broker', session=session)
        self.server = server.wrap_bio(*self.bios[1], server_side=True)

    def carry(self):
        for side, mark in ((0, '>'), (1, '<')):
            data = self.bios[side][1].read()
            if data:
                self.steps.append(f'{mark} {data.hex()}')
                self.bios[1 - side][0].write(data)

    def attempt(self, act):
        try:
            return act()
        except ssl.SSLWantReadError:
            return None
        finally:
            self.carry()

    def talk(self):
        for _ in range(4):
            self.attempt(self.client.do_handshake)
            self.attempt(self.server.do_handshake)
        for turn in range(4):
            for speaker, listener, mark in ((self.client, self.server, '>'), (self.server, self.client, '<')):
                words = bytes((at * 7 + turn) % 256 for at in range(20 + 33 * turn + (5 if mark == '<' else 0)))
                self.steps.append(f'said{mark} {words.hex()}')
                self.attempt(lambda: speaker.write(words))
                assert self.attempt(lambda: listener.read(1 << 14)) == words
        session = self.client.session
        self.attempt(self.client.unwrap)
        self.attempt(self.server.unwrap)
        return session


def renegotiate(name, cipher, certificate, folder):
    """A client that asks for another handshake in between: Python's ssl cannot, OpenSSL's commands talk through sockets."""
    key, cert = certificate
    log = os.path.join(folder, 'log')
    if os.path.exists(log):
        os.remove(log)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    server = subprocess.Popen(['openssl', 's_server', '-accept', str(port), '-key', key, '-cert', cert, '-tls1_2',
                               '-cipher', cipher, '-client_renegotiation', '-quiet'], **pipes)
    time.sleep(1)
    listener = socket.create_server(('127.0.0.1', 0))
    client = subprocess.Popen(['openssl', 's_client', '-connect', '127.0.0.1:%d' % listener.getsockname()[1], '-tls1_2',
                               '-keylogfile', log], **pipes)
    ends = listener.accept()[0], socket.create_connection(('127.0.0.1', port))
    lines = []

    def carry(source, target, mark):
        while data := source.recv(1 << 16):
            lines.append(f'{mark} {data.hex()}')
            target.sendall(data)

    for source, target, mark in ((*ends, '>'), (*reversed(ends), '<')):
        threading.Thread(target=carry, args=(source, target, mark), daemon=True).start()

    def say(speaker, words, mark=None):
        if mark:
            lines.append(f'said{mark} {words.hex()}')
        speaker.stdin.write(words)
        speaker.stdin.flush()
        time.sleep(0.5)

    time.sleep(1)
    for turn in range(3):
        say(client, b'words %d of the client\n' % turn, '>')
        say(server, b'words %d of the server\n' % turn, '<')
        if turn < 2:
            say(client, b'R\n')
    say(client, b'Q\n')
    client.kill()
    server.kill()
    with open(log) as secrets:
        lines[:0] = [f'suite {cipher}'] + [f'key {line.strip()}' for line in secrets if line[:1] not in '#\n']
    with open(os.path.join(HERE, name + '-renegotiated.txt'), 'w') as out:
        out.write('\n'.join(lines) + '\n')


def main():
    with tempfile.TemporaryDirectory() as folder:
        groups = os.path.join(folder, 'groups.pem')
        subprocess.run(['openssl', 'genpkey', '-genparam', '-algorithm', 'DH', '-pkeyopt', 'group:ffdhe2048',
                        '-out', groups], check=True)
        certificates = {kind: certificate(kind, folder) for kind in ('rsa', 'ec')}
        for name, cipher in RENEGOTIATED:
            renegotiate(name, cipher, certificates['ec'], folder)
        for name, ciphers, kind, version, encrypt_then_mac in CASES:
            log = os.path.join(folder, 'log')
            contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)]
            contexts[0].check_hostname, contexts[0].verify_mode = False, ssl.CERT_NONE
            contexts[1].load_cert_chain(certificates[kind][1], certificates[kind][0])
            contexts[1].load_dh_params(groups)
            for context in contexts:
                context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
                context.set_ciphers((ciphers or 'ALL') + ':@SECLEVEL=0')
                if not encrypt_then_mac:
                    context.options |= NO_ENCRYPT_THEN_MAC
            session = None
            for suffix in ('', '-resumed'):
                if os.path.exists(log):
                    os.remove(log)
                contexts[0].keylog_filename = log
                ends = Ends(contexts, session)
                session = ends.talk()
                lines = [f'suite {ends.client.cipher()[0]}'] if ends.client.cipher() else []
                with open(log) as secrets:
                    lines += [f'key {line.strip()}' for line in secrets if not line.startswith('#')]
                if suffix and not ends.client.session_reused:
                    continue
                if suffix and name not in ('rsa-aes128-cbc-sha', 'rsa-aes256-gcm', 'tls13-aes256-gcm'):
                    continue
                with open(os.path.join(HERE, name + suffix + '.txt'), 'w') as out:
                    out.write('\n'.join(lines + ends.steps) + '\n')


main()
