"""Runs every step of python3-serial's rfc2217:// client against one port; prints a line of JSON for each.

rfc2217.py HOST:PORT [OPTIONS]    the device behind the port echoes
"""
import json
import sys
import time

import serial

address, options = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ''


def tell(name, step):
    try:
        result = step()
    except Exception as error:  # the result is what a client would see
        result = f'{type(error).__name__}: {error}'
    print(json.dumps([name, result]), flush=True)


def setting(port, name, value):
    def step():
        try:
            setattr(port, name, value)
        except Exception:
            # The client keeps a refused value, and would send it again with every later setting.
            setattr(port, '_' + name, {'bytesize': 8, 'parity': 'N', 'stopbits': 1}[name])
            raise
        return 'ok'

    return step


port = serial.serial_for_url(f'rfc2217://{address}?poll_modem{options}', do_not_open=True, timeout=10)
port.baudrate = 9600
tell('open', port.open)
for baud in (300, 1200, 57600, 115200, 250000, 3000000, 9600):
    tell(f'baud {baud}', setting(port, 'baudrate', baud))
for size in (5, 6, 7, 8):
    tell(f'size {size}', setting(port, 'bytesize', size))
for parity in 'OEMSN':
    tell(f'parity {parity}', setting(port, 'parity', parity))
for stop in (2, 1.5, 1):
    tell(f'stop {stop}', setting(port, 'stopbits', stop))
for flow in ('rtscts', 'xonxoff'):
    for on in (True, False):
        tell(f'{flow} {on}', setting(port, flow, on))
for signal in ('dtr', 'rts', 'break_condition'):
    for on in (False, True):
        tell(f'{signal} {on}', setting(port, signal, on))
tell('break off', setting(port, 'break_condition', False))
tell('send_break', lambda: port.send_break(0.05))
for signal in ('cts', 'dsr', 'ri', 'cd'):
    tell(signal, lambda: getattr(port, signal))
tell('purge input', port.reset_input_buffer)
tell('purge output', port.reset_output_buffer)


def echo(data):
    port.write(data)
    got = port.read(len(data))
    return 'equal' if got == data else f'{len(got)} of {len(data)} bytes'


def echo_with_settings():
    for turn in range(20):
        port.baudrate = 9600 if turn % 2 else 19200
        yield '' if echo(bytes([turn, 255, 250, 44, 255, 240])) == 'equal' else f'{turn} '


tell('every byte', lambda: echo(bytes(range(256))))
tell('FF alone', lambda: echo(b'\xff' * 1000))
tell('8 KiB', lambda: echo(bytes(at * 7 & 255 for at in range(8192))))
tell('data beside settings', lambda: ''.join(echo_with_settings()))


time.sleep(0.1)
tell('close', port.close)
