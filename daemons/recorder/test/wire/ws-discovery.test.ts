import t from 'tap'
import { probeText, readProbeMatches } from '../../wire/ws-discovery.ts'
import { readXml, textAt } from '../../wire/xml.ts'
import { probeMatchText } from '../peer/onvif-camera.ts'

const about = { endpoint: 'urn:uuid:1', address: 'http://10.0.0.5/onvif/device_service', name: 'Yard & gate' }

t.test('asks for cameras, by an id that answers name', async (t) => {
  const root = readXml(probeText('urn:uuid:q'))
  t.equal(textAt(root, 'Header', 'MessageID'), 'urn:uuid:q')
  t.match(textAt(root, 'Body', 'Probe', 'Types'), /NetworkVideoTransmitter/)
})

t.test('reads what a camera says of itself', async (t) => {
  t.same(readProbeMatches(probeMatchText('urn:uuid:q', about), 'urn:uuid:q'), [
    {
      endpoint: 'urn:uuid:1',
      addresses: ['http://[fe80::1]/onvif/device_service', about.address],
      ...{ name: 'Yard & gate', manufacturer: undefined, model: 'PC-1' },
    },
  ])
})

t.test('an answer to a question of somebody else is left out, one that names none is taken', async (t) => {
  const text = probeMatchText('urn:uuid:other', about)
  t.same(readProbeMatches(text, 'urn:uuid:q'), [])
  t.equal(readProbeMatches(text.replace(/<wsa:RelatesTo>.*<\/wsa:RelatesTo>/, ''), 'urn:uuid:q').length, 1)
})

t.test('a printer is no camera, and names are made safe to show', async (t) => {
  const text = probeMatchText('q', about)
  const printer = text
    .replace(/dn:NetworkVideoTransmitter tds:Device/, 'wprt:PrintDeviceType')
    .replace(/<d:Scopes>.*<\/d:Scopes>/, '')
  t.same(readProbeMatches(printer, 'q'), [])
  const [blank] = readProbeMatches(text.replace('Yard%20%26%20gate', 'Yard cam 1'), 'q')
  t.match(blank, { name: 'Yard cam 1', model: 'PC-1' }, 'a blank that should have been written as %20')
  const [odd] = readProbeMatches(text.replace('Yard%20%26%20gate', `${'x'.repeat(100)}%0a%1b[31m%zz`), 'q')
  t.ok((odd?.name ?? '').length <= 64)
  t.notMatch(odd?.name, /\p{Cc}/u)
})
