import fc from 'fast-check'
import t from 'tap'
import type { Fault } from '#kit/pure/fault.ts'
import { checkSettings, readSettings } from '../../../core/settings/book.ts'
import { boardSettings, firstSettings } from '../../../core/settings/settings.ts'

const first = firstSettings({ role: 'serial', hostname: 'board-7', mcast: '239.69.10.4' })
const world = { httpPort: 8080 }
const check = (given: Record<string, string>, current = first) => checkSettings(given, current, world)

/** Sentences by field; empty if the form is accepted. */
function faultsOf(given: Record<string, string>, current = first): Record<string, string> {
  try {
    check(given, current)
    return {}
  } catch (error) {
    const { code, details } = error as Fault
    if (code !== 'bad_fields') throw error
    const fields = details?.fields as { field: string; message: string }[]
    return Object.fromEntries(fields.map(({ field, message }) => [field, message]))
  }
}

/** Settings as a page or a script sends back what it got. */
const formOf = (settings: object) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))

t.test('B.rules.3 the answer of GET can be posted back as it is', async (t) => {
  const settings = { ...first, static_ip: true, ip: '10.20.4.11', mask: '255.255.255.0', gw: '10.20.4.1', link_ms: 2.5 }
  const { settings: again, changed } = check(formOf(settings), settings)
  t.same(again, settings)
  t.same(changed, [])
})

t.test('B.rules.3 sap and static_ip present means on, absent means off', async (t) => {
  const on = { ...first, sap: true, static_ip: true, ip: '10.20.4.11', mask: '255.255.255.0', gw: '10.20.4.1' }
  t.match(check({ sap: 'on', static_ip: 'on' }, on).settings, { sap: true, static_ip: true })
  t.match(check({ name: 'Lobby' }, on).settings, { sap: false, static_ip: false })
  for (const off of ['0', 'false', 'off', 'no', '', 'OFF', 'No'])
    t.equal(check({ sap: off }, on).settings.sap, false, off)
  for (const yes of ['1', 'true', 'on', 'yes', 'YES']) t.equal(check({ sap: yes }).settings.sap, true, yes)
  t.match(faultsOf({ sap: 'maybe' }), { sap: /"maybe" is neither on nor off/ })
})

t.test(
  'a form with only the changes leaves switches as they are, and a whole one names those it switched off',
  async (t) => {
    const on = { ...first, sap: true, static_ip: true, ip: '10.20.4.11', mask: '255.255.255.0', gw: '10.20.4.1' }
    t.match(checkSettings({ name: 'Lobby' }, on, world, 'kept'), {
      settings: { ...on, name: 'Lobby' },
      changed: ['name'],
      switchedOff: [],
    })
    t.match(checkSettings({ sap: '0' }, on, world, 'kept'), { settings: { ...on, sap: false }, changed: ['sap'] })
    t.same(check({ name: 'Lobby', sap: '1' }, on).switchedOff, ['static_ip'])
    t.same(
      check({ name: 'Lobby', sap: '', static_ip: '' }, on).switchedOff,
      [],
      'a switch sent as off is meant that way',
    )
  },
)

t.test('B.resources an absent field of text or number keeps its value', async (t) => {
  const before = { ...first, name: 'Lobby', port: 5010, mcast: '239.1.2.3' }
  t.match(check({ sap: '1', channels: '8' }, before), {
    settings: { name: 'Lobby', port: 5010, mcast: '239.1.2.3', channels: 8 },
    changed: ['channels'],
  })
})

t.test('B.rules.4 role accepts encoder, decoder, serial or usbip', async (t) => {
  for (const role of ['encoder', 'decoder', 'serial', 'usbip']) t.equal(check({ role }).settings.role, role)
  t.match(faultsOf({ role: 'mixer' }), { role: /"mixer" is not one of encoder, decoder, serial, usbip\./ })
})

t.test('every field that is wrong is named at once, and unknown ones with the nearest name', async (t) => {
  const faults = faultsOf({
    hostname: 'lobby ceiling',
    name: ' ',
    mcast: '224.0.0.1',
    port: '80',
    channels: '9',
    link_ms: '0.125',
    ptp_priority1: '12.5',
    mask: '255.0.255.0',
    serial_devices: '/etc/passwd',
    hostnme: 'x',
    constructor: 'x',
  })
  t.match(faults, {
    hostname: /A space/,
    name: /needs a name/,
    mcast: /control of this network/,
    port: '80 is too low. Use 1024 to 65535.',
    channels: '9 is too high. Use 1 to 8.',
    link_ms: '0.125 is too low. Use 0.25 to 2000 ms.',
    ptp_priority1: 'Use a whole number.',
    mask: /has gaps/,
    serial_devices: /no device/,
    hostnme: 'There is no such setting. Do you mean hostname?',
    constructor: 'There is no such setting.',
  })
  t.equal(Object.keys(faults).length, 11)
})

t.test('the summary names the first field and counts the others', async (t) => {
  t.throws(() => check({ port: 'x' }), { message: 'port: "x" is not a number. Use 1024 to 65535.' })
  t.throws(() => check({ port: 'x', channels: '0' }), { message: /One more field does not fit either\.$/ })
  t.throws(() => check({ port: '', channels: '0', role: '' }), { message: /2 more fields do not fit either\.$/ })
})

t.test('a fixed address needs an address and a mask, and a gateway, if given, must fit them', async (t) => {
  const network = (ip: string, mask: string, gw: string) => faultsOf({ static_ip: '1', ip, mask, gw })
  t.same(network('10.20.4.11', '255.255.255.0', '10.20.4.1'), {})
  t.same(network('10.20.4.1', '255.255.255.252', '10.20.4.2'), {})
  t.same(network('10.20.4.11', '255.255.255.0', ''), {}, 'a network without a way out')
  t.same(Object.keys(network('', '', '')), ['ip', 'mask'])
  for (const [ip, mask, gw, fault] of [
    ['10.20.4.0', '255.255.255.0', '10.20.4.1', { ip: /the network itself\. Use 10\.20\.4\.1 to 10\.20\.4\.254/ }],
    ['10.20.4.255', '255.255.255.0', '10.20.4.1', { ip: /every machine/ }],
    ['239.1.1.1', '255.255.255.0', '239.1.1.2', { ip: /multicast/, gw: /multicast/ }],
    ['127.0.0.1', '255.0.0.0', '127.0.0.2', { ip: /own address/, gw: /own address/ }],
    ['10.20.4.11', '255.255.255.0', '10.20.5.1', { gw: /not in the board's network, 10\.20\.4\.1 to 10\.20\.4\.254/ }],
    ['10.20.4.11', '255.255.255.0', '10.20.4.11', { gw: /own address/ }],
    ['10.20.4.11', '255.255.255.0', '10.20.4.255', { gw: /every machine/ }],
    ['10.20.4.11', '255.255.255.0', '10.20.4.0', { gw: /the network itself/ }],
    ['10.20.4.11', '0.0.0.0', '10.20.4.1', { mask: /whole internet/ }],
    ['10.20.4.11', '255.255.255.255', '10.20.4.1', { mask: /no room/ }],
    ['10.20.400.11', '255.255.255.0', '10.20.4.1', { ip: 'The third number goes up to 255.' }],
  ] as const) {
    const found = network(ip, mask, gw)
    t.match(found, fault, `${ip} ${mask} ${gw}`)
    t.same(Object.keys(found).sort(), Object.keys(fault).sort())
  }
})

t.test('name servers are up to three addresses of hosts, however they are separated', async (t) => {
  t.match(check({ dns: ' 10.9.0.53,10.9.0.54  1.1.1.1' }).settings, { dns: '10.9.0.53, 10.9.0.54, 1.1.1.1' })
  t.same(faultsOf({ dns: '' }), {})
  for (const [dns, fault] of [
    ['10.9.0.53, 1.1.1.1, 8.8.8.8, 9.9.9.9', /names 4 servers, and 3 are asked at most/],
    ['10.9.0.53, 127.0.0.53', /own address/],
    ['10.9.0.300', /fourth number goes up to 255/],
    ['dns.example.org', /four numbers/],
  ] as const)
    t.match(faultsOf({ dns }), { dns: fault })
})

t.test('with DHCP the fields of a fixed address can be empty, and are kept', async (t) => {
  t.same(faultsOf({ ip: '', mask: '', gw: '' }), {})
  t.match(check({ ip: '10.20.4.11' }).settings, { static_ip: false, ip: '10.20.4.11' })
})

t.test('a stream cannot have the port of the page, and an encoder needs a group', async (t) => {
  t.match(faultsOf({ port: '8080' }), { port: /Port 8080 is taken by this page/ })
  t.match(faultsOf({ role: 'encoder', mcast: '' }), { mcast: /An encoder sends/ })
  t.same(faultsOf({ role: 'decoder', mcast: '' }), {})
})

t.test('text is trimmed, hostnames are kept in lower case, device paths with commas', async (t) => {
  const given = {
    name: '  Lobby ',
    hostname: 'Lobby-7',
    serial_devices: ' /dev/ttyUSB0  /dev/serial/by-id/usb-FTDI_A-if00,',
  }
  t.match(check(given).settings, {
    name: 'Lobby',
    hostname: 'lobby-7',
    serial_devices: '/dev/ttyUSB0, /dev/serial/by-id/usb-FTDI_A-if00',
  })
})

t.test('device paths are four at most, each once, and stay below /dev', async (t) => {
  const sentence = (serial_devices: string) => faultsOf({ serial_devices }).serial_devices
  t.match(sentence('/dev/a /dev/b /dev/c /dev/d /dev/e'), /5 devices, and there are 4 ports/)
  t.match(sentence('/dev/a,/dev/a'), /stands twice/)
  for (const path of ['/dev/../etc/passwd', '/dev/a/..', 'ttyUSB0', '/dev/a$b', '/dev/'])
    t.match(sentence(path), /no device/, path)
  t.equal(sentence('/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0'), undefined)
})

t.test('names with invisible characters, and names that are too long, are refused', async (t) => {
  for (const name of ['a\u202eb', 'a\u0000b', 'a\nb', '\u200fa', '\ud800'])
    t.match(faultsOf({ name }), { name: /cannot be seen/ })
  t.match(faultsOf({ name: 'x'.repeat(65) }), { name: /65 characters, and 64 at most/ })
  t.same(faultsOf({ name: 'Büro 2 – “Süd” 🎵' }), {})
})

t.test('any form is either refused by field or gives settings that can be posted back', async (t) => {
  const names = boardSettings.map(({ name }) => name)
  const texts = fc.oneof(
    fc.string(),
    fc.ipV4(),
    fc.integer().map(String),
    fc.constantFrom('', '1', 'on', 'encoder', '/dev/a'),
  )
  const forms = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), texts, { maxKeys: 16 })
  fc.assert(
    fc.property(forms, (form) => {
      if (Object.keys(faultsOf(form)).length > 0) return
      const { settings } = check(form)
      t.strictSame(check(formOf(settings), settings), { settings, changed: [], switchedOff: [] })
    }),
    { numRuns: 2000 },
  )
})

t.test('a file is read setting by setting', async (t) => {
  const kept = { ...first, name: 'Lobby', port: 5010 }
  t.same(readSettings(JSON.parse(JSON.stringify(kept)), first), { settings: kept, faults: [] })
  const other = { ...kept, port: 80, colour: 'red', role: 'mixer' }
  t.match(readSettings(other, first), {
    settings: { name: 'Lobby', port: 5004, role: 'serial' },
    faults: [{ field: 'role' }, { field: 'port' }],
  })
  const { mcast: _, ...older } = kept
  t.equal(readSettings(older, first).settings.mcast, first.mcast)
  t.match(readSettings({ ...kept, static_ip: true, ip: '10.0.0.1' }, first), {
    settings: { static_ip: false },
    faults: [{ field: 'mask' }],
  })
  for (const nothing of [null, [], 'x', 7]) t.throws(() => readSettings(nothing, first), { code: 'bad_fields' })
})

t.test('an encoder whose packets are too large for the network is refused with the size that fits', async (t) => {
  const encoder = { ...first, role: 'encoder' as const }
  const long = { packet_ms: '4', channels: '8', encoding: 'L24' }
  t.same(faultsOf(long, encoder), {
    packet_ms: 'Packets of 4 ms with 8 channels of L24 carry 4608 bytes. AES67 allows 1440: send shorter ones.',
  })
  t.same(faultsOf({ ...long, channels: '2', encoding: 'L16' }, encoder), {})
  t.same(faultsOf({ ...long, packet_ms: '1' }, encoder), {})
  t.same(faultsOf(long), {}, 'other roles have no packets')
})
