import fc from 'fast-check'
import t from 'tap'
import {
  edgesOf,
  hostFault,
  ipv4Fault,
  ipv4Text,
  isInNetwork,
  maskOfPrefix,
  parseIpv4,
  prefixOfMask,
} from '../../wire/addresses.ts'

t.test('every address reads back as it was written', async () => {
  fc.assert(fc.property(fc.ipV4(), (text) => ipv4Text(parseIpv4(text) ?? -1) === text))
})

t.test('any text either reads as an address or has a sentence that says why not', async () => {
  const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20}$/), fc.ipV4())
  fc.assert(fc.property(texts, (text) => (parseIpv4(text) === undefined) === (ipv4Fault(text) !== undefined)))
})

t.test('the wrong number is named', async (t) => {
  t.equal(ipv4Fault('10.300.4.1'), 'The second number goes up to 255.')
  t.equal(ipv4Fault('10.20.4.01'), 'The fourth number begins with 0. Leave that out.')
  for (const text of ['', '10.20.4', '10.20.4.1.2', '10.20.4.x', '10.20.4.', ' 10.20.4.1', '0x0a.0.0.1', '167772161'])
    t.match(ipv4Fault(text), /four numbers/, text)
})

t.test('a mask is ones and then zeros', async (t) => {
  for (let prefix = 0; prefix <= 32; prefix++) t.equal(prefixOfMask(maskOfPrefix(prefix)), prefix)
  const whole = new Set(Array.from({ length: 33 }, (_, prefix) => maskOfPrefix(prefix)))
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 0xffff_ffff }),
      (mask) => (prefixOfMask(mask) !== undefined) === whole.has(mask),
    ),
  )
  t.equal(prefixOfMask(parseIpv4('255.0.255.0') ?? 0), undefined)
})

t.test('a network has a first and a last address, and what lies between is in it', async (t) => {
  const { first, last } = edgesOf(parseIpv4('10.20.4.77') ?? 0, 26)
  t.same([ipv4Text(first), ipv4Text(last)], ['10.20.4.64', '10.20.4.127'])
  t.ok(isInNetwork(first, last, 26))
  t.notOk(isInNetwork(first, last + 1, 26))
  t.ok(isInNetwork(0, 0xffff_ffff, 0))
})

t.test('addresses that no host can have are recognised', async (t) => {
  for (const [text, why] of [
    ['0.1.2.3', /stands for no address/],
    ['127.0.0.1', /own address/],
    ['239.69.1.1', /multicast group/],
    ['255.255.255.255', /reserved/],
    ['169.254.7.7', /link-local/],
  ] as const)
    t.match(hostFault(parseIpv4(text) ?? 0), why, text)
  for (const text of ['10.20.4.11', '192.168.1.1', '169.253.1.1', '223.255.255.1', '126.0.0.1'])
    t.equal(hostFault(parseIpv4(text) ?? 0), undefined, text)
})
