import fc from 'fast-check'
import t from 'tap'
import { firstGroup, groupFault } from '../../wire/addresses.ts'

t.test('streams can go to 239.x and to the ranges of other RTP senders', async (t) => {
  for (const text of [
    '239.69.10.4',
    '239.0.1.0',
    '239.255.255.249',
    '232.1.2.3',
    '233.1.2.3',
    '234.1.2.3',
    '224.2.128.1',
  ])
    t.equal(groupFault(text), undefined, text)
})

t.test('RFC 5771, 4: the control of the local network is refused', async (t) => {
  for (const text of ['224.0.0.0', '224.0.0.1', '224.0.0.251', '224.0.0.255'])
    t.match(groupFault(text), /for the control/, text)
})

t.test('groups of other protocols are refused, with their owner if it is known', async (t) => {
  t.match(groupFault('224.0.1.129'), /given to other protocols/)
  t.match(groupFault('230.1.2.3'), /given to other protocols/)
  t.match(groupFault('224.2.127.254'), /belongs to SAP/)
  t.match(groupFault('239.255.255.255'), /belongs to SAP/)
  t.match(groupFault('239.255.255.250'), /belongs to UPnP/)
})

t.test(
  'RFC 1112, 6.4: groups with the Ethernet address of control traffic are refused, since switches flood them',
  async (t) => {
    t.match(groupFault('239.0.0.7'), /same Ethernet address as 224\.0\.0\.7/)
    t.match(groupFault('239.128.0.251'), /same Ethernet address as 224\.0\.0\.251/)
  },
)

t.test('an invalid group is refused with what a group looks like', async (t) => {
  t.match(groupFault('10.20.4.5'), /not a multicast group.*239\.69\.4\.5/)
  t.match(groupFault('240.0.0.1'), /not a multicast group/)
  t.match(groupFault('lobby'), /four numbers/)
  t.match(groupFault(''), /four numbers/)
})

t.test('the default group of every board is one that streams can go to', async () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2 }), (seed) => groupFault(firstGroup(seed)) === undefined))
})

t.test('any text has an answer', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV4()), (text) => ['string', 'undefined'].includes(typeof groupFault(text))),
  )
})
