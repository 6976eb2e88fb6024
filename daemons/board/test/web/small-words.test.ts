/** Tests of small texts on pages: rates, steps of an upload, the USB server, credentials, unknown roles. */
import t from 'tap'
import { basicHeader, formBody } from '../../web/api.ts'
import { stepOf } from '../../web/firmware-page.ts'
import { byteRates, withLook, withSample } from '../../web/serial-page.ts'
import { deviceOptions, hostCommands, linkLit, usbName, usbStateText } from '../../web/usbip-page.ts'
import { litOf, roleTitleOf, startReason } from '../../web/words.ts'
import { fakeUsbip } from '../fake-states.ts'

t.test('rates are bytes a second between looks; a counter that went back starts again', async (t) => {
  let samples = withSample([], { atMs: 0, total: 100 })
  samples = withSample(samples, { atMs: 500, total: 600 })
  samples = withSample(samples, { atMs: 500, total: 700 })
  t.same(byteRates(samples), [1000])
  t.same(byteRates(withSample(samples, { atMs: 900, total: 5 })), [])
  t.same(withLook(undefined, { bytes_from_line: 1, bytes_to_line: null }, 7), { from: [{ atMs: 7, total: 1 }], to: [] })
})

t.test('an upload goes through its four steps', async (t) => {
  const sent = { phase: 'sent', name: 'x', totalBytes: 1 } as const
  const installed = { phase: 'installed', version: null } as const
  t.equal(stepOf({ phase: 'sending', name: 'x', sentBytes: 0, totalBytes: 1, cancel() {} }, 'receiving', false), 0)
  t.equal(stepOf(sent, 'verifying', false), 1)
  t.equal(stepOf(sent, 'installing', false), 2)
  t.equal(stepOf(installed, 'installed', true), 3)
  t.equal(stepOf(installed, 'idle', false), 4)
})

t.test('the USB server says which device it has and which host uses it', async (t) => {
  const state = fakeUsbip()
  const device = state.device as NonNullable<typeof state.device>
  t.equal(usbName(device), 'S250 Digital Postal Scale')
  t.equal(usbName({ ...device, product: null, vendor: null }), '0922:8003')
  t.equal(linkLit(state), 'ok')
  t.equal(linkLit({ ...state, attached: null }), 'busy')
  t.equal(linkLit({ ...state, attached: null, device: { ...device, state: 'failed' } }), 'fault')
  t.equal(linkLit({ ...state, attached: null, device: null }), 'gone')
  t.equal(linkLit({ ...state, supported: false }), 'off')
  t.equal(usbStateText({ ...device, attached: state.attached }), '10.20.4.40 has it')
  t.equal(usbStateText({ ...device, state: 'local', carries: 'disk' }), 'a disk this board uses')
  t.equal(usbStateText({ ...device, state: 'exported' }), 'waits for a host')
  t.same(
    deviceOptions({ ...state, choice: '1-1.4' }).map(([key]) => key),
    ['', device.key, '1-1.4'],
    'a chosen device stays in the list when it is unplugged',
  )
  for (const command of Object.values(hostCommands('http://10.20.4.14')))
    t.match(command, /http:\/\/10\.20\.4\.14\/usbip\./)
})

t.test('credentials are UTF-8, forms carry switches as 1 and 0', async (t) => {
  t.equal(basicHeader('pässwörd'), `Basic ${Buffer.from('admin:pässwörd').toString('base64')}`)
  t.equal(
    formBody({ sap: true, static_ip: false, ip: null, port: 5004, name: 'a b' }).toString(),
    'sap=1&static_ip=0&ip=&port=5004&name=a+b',
  )
})

t.test('another board can say anything', async (t) => {
  t.equal(litOf('ok'), 'ok')
  for (const odd of ['constructor', 'gone', 7, null]) t.equal(litOf(odd), 'off')
  t.equal(roleTitleOf('usbip'), 'USB server')
  t.equal(roleTitleOf('constructor'), 'constructor')
  t.equal(roleTitleOf(''), 'Unknown role')
  t.equal(startReason('toString').includes('function'), false)
})

t.test('every reason for a start has its words', async (t) => {
  for (const reason of ['first', 'power', 'config', 'reboot', 'ota', 'factory_reset', 'service', 'crash'])
    t.notMatch(startReason(reason), /not known/, reason)
  t.match(startReason('unknown'), /not known/)
})
