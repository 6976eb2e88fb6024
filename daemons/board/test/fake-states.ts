/** States of a fake board: serial lines with clients and errors, a USB device with its host, other boards. */

import type { OtaStatus } from '../core/machine/firmware.ts'
import { roleFitness } from '../core/role.ts'
import { boardSettings, firstSettings, settingsForm } from '../core/settings/settings.ts'
import type { Config, ConfigForm, Peer, SerialPort, SerialState, Status, UsbipState } from '../web/api.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND

/** A serial server that is set up, has a password, and owns its machine. */
export function fakeStatus(change: Partial<Status> = {}): Status {
  const now = Date.now()
  return {
    role: 'serial',
    set_up: true,
    name: 'Lift shaft',
    hostname: 'ser-lift',
    version: '0.2.0',
    verdict: { state: 'warn', text: '2 of 3 lines are shared without errors. BMS has framing errors.' },
    uptime_s: 41 * 24 * 3600,
    started_at: now - 41 * 24 * HOUR - 6 * HOUR,
    machine: { owned: true, model: 'Raspberry Pi 3 Model B Rev 1.2' },
    addresses: [
      { interface: 'eth0', address: '10.20.4.11', prefix: 24, family: 'IPv4' },
      { interface: 'eth0', address: 'fe80::ba27:ebff:fe12:3456', prefix: 64, family: 'IPv6' },
    ],
    temperature_c: 48.5,
    memory: { total_bytes: 948_000_000, available_bytes: 702_000_000, process_bytes: 61_400_000 },
    load: [0.11, 0.08, 0.05],
    time: { now, synchronised: true },
    last_start: { at: now - 41 * 24 * HOUR - 6 * HOUR, reason: 'power' },
    identify_until: null,
    password_set: true,
    network: {
      state: 'static',
      confirm_until: null,
      text: 'The board keeps the address 10.20.4.11/24, gateway 10.20.4.1.',
    },
    ota: fakeOta('idle'),
    ledger: { open: { fault: 0, warning: 0, notice: 0 }, revision: 0 },
    ...change,
  }
}

/** State of an update. */
export function fakeOta(state: OtaStatus['state']): OtaStatus {
  return { state, received_bytes: 0, total_bytes: null, version: null, fault: null, at: null }
}

/** Settings of a board at its first start, except for its name. */
export function fakeConfig(): Config {
  const first = firstSettings({ role: 'serial', hostname: 'ser-lift', mcast: '239.69.10.4' })
  return {
    ...first,
    name: 'Lift shaft',
    ip: '10.20.4.11',
    mask: '255.255.255.0',
    gw: '10.20.4.1',
    static_ip: true,
  } as unknown as Config
}

/** The form as the daemon builds it from its settings. */
export function fakeForm(): ConfigForm {
  const first = firstSettings({ role: 'serial', hostname: 'ser-lift', mcast: '239.69.10.4' })
  if (boardSettings.length === 0) throw new Error('the board has no settings')
  const roles = roleFitness({
    serialLines: 3,
    hasUsb: true,
    hasUsbipHost: false,
    hasSound: true,
    playing: 1,
    recording: 1,
  })
  return { ...settingsForm(first, first), revision: 'one', roles }
}

const NONE = {
  bytes_from_line: 0,
  bytes_to_line: 0,
  bytes_discarded: 0,
  clients_total: 3,
  clients_refused: 0,
  clients_dropped: 0,
  telnet_faults: 0,
  clients: 1,
  overruns: 0,
  framing: 0,
  parity: 0,
  breaks: 0,
}

function port(number: number, change: Partial<SerialPort>): SerialPort {
  return {
    port: number,
    enabled: false,
    mode: 'raw',
    tcp_port: 4000 + number,
    baud: 9600,
    data_bits: 8,
    parity: 'none',
    stop_bits: 1,
    flow: 'none',
    write: 'all',
    label: '',
    allow: '',
    path: `/dev/ttyUSB${number - 1}`,
    state: 'off',
    line_now: null,
    fault: null,
    unsupported: [],
    clients: [],
    counters: { ...NONE, bytes_from_line: 0, bytes_to_line: 0, framing: 0, breaks: 0 },
    ...change,
  }
}

/** Three ports: one with two clients, one with errors, one whose adapter is unplugged. */
export function fakeSerial(): SerialState {
  const now = Date.now()
  const client = { may_write: true, rfc2217: false, bytes_in: 12_480, bytes_out: 3200 }
  return {
    adapter: {
      text: '/dev/ttyUSB2 (port 3) is not there.',
      devices: [
        {
          port: 1,
          path: '/dev/ttyUSB0',
          found: true,
          maker: 'FTDI',
          product: 'FT232R USB UART',
          serial_number: 'A50285BI',
        },
        {
          port: 2,
          path: '/dev/ttyUSB1',
          found: true,
          maker: 'FTDI',
          product: 'FT232R USB UART',
          serial_number: 'A50311XQ',
        },
        { port: 3, path: '/dev/ttyUSB2', found: false, maker: null, product: null, serial_number: null },
      ],
    },
    ports: [
      port(1, {
        enabled: true,
        label: 'Lift',
        path: '/dev/ttyUSB0',
        state: 'open',
        clients: [
          { id: 1, address: '10.20.4.40', client_port: 51_122, since_at: now - 3 * HOUR, ...client },
          {
            id: 2,
            address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
            client_port: 40_022,
            since_at: now - 42 * SECOND,
            ...client,
            may_write: false,
          },
        ],
        write: 'first',
        counters: { ...NONE, bytes_from_line: 3_600_412, bytes_to_line: 118_204, framing: 0, breaks: 0 },
      }),
      port(2, {
        enabled: true,
        label: 'BMS',
        mode: 'rfc2217',
        baud: 19_200,
        parity: 'even',
        path: '/dev/ttyUSB1',
        state: 'open',
        allow: '10.20.4.0/24',
        clients: [
          { id: 3, address: '10.20.4.41', client_port: 51_124, since_at: now - 26 * HOUR, ...client, rfc2217: true },
        ],
        counters: { ...NONE, bytes_from_line: 88_204, bytes_to_line: 9120, framing: 14, breaks: 2 },
      }),
      port(3, {
        enabled: true,
        label: 'Projector',
        path: '/dev/ttyUSB2',
        state: 'absent',
        fault: {
          code: 'device_absent',
          message: '/dev/ttyUSB2 is not there. Plug the adapter in; the line opens by itself then.',
        },
      }),
    ],
  }
}

/** A scale used by a till, over a link that carries traffic. */
export function fakeUsbip(change: Partial<UsbipState> = {}): UsbipState {
  const device = {
    busid: '1-1.2',
    vendor_id: '0922',
    product_id: '8003',
    vendor: 'Dymo-CoStar Corp.',
    product: 'S250 Digital Postal Scale',
    serial: '00000012345',
    class: 'input',
    speed: '12 Mbit/s',
    key: '0922:8003:00000012345',
    state: 'attached',
    carries: null,
    attached: null,
    traffic: null,
  } as const
  return {
    enabled: true,
    allow: '10.20.4.0/24',
    choice: '0922:8003:00000012345',
    supported: true,
    text: '10.20.4.40 has S250 Digital Postal Scale.',
    device,
    devices: [device],
    attached: { address: '10.20.4.40', since_at: Date.now() - 76 * HOUR },
    traffic: { in_bytes: 1_204_000, out_bytes: 311_400 },
    hold_until: null,
    last_error: null,
    ...change,
  }
}

/** Another board. */
export function fakePeer(hostname: string, change: Partial<Peer> = {}): Peer {
  const now = Date.now()
  return {
    id: null,
    hostname,
    ip: '10.20.4.12',
    role: 'serial',
    name: hostname,
    stream: null,
    port: 80,
    url: 'http://10.20.4.12',
    path: '/',
    version: '0.2.0',
    self: false,
    state: 'alive',
    last_heard_at: now,
    last_answer_at: now,
    ...change,
  }
}
