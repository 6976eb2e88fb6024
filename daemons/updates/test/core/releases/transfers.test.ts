import t from 'tap'
import { createTransfers } from '../../../core/releases/transfers.ts'

const limits = { total: 3, perAddress: 2, perInstallation: 1, retryMs: 9000 }
const full = { code: 'too_many_downloads', details: { retryAfterMs: 9000 } }

t.test('bounds those in all, of an address and of an installation; who leaves makes room, once', async (t) => {
  const transfers = createTransfers(limits)
  const first = transfers.begin({ share: 'a', installation: '1' })
  t.throws(() => transfers.begin({ share: 'b', installation: '1' }), full)
  transfers.begin({ share: 'b', installation: '2' })
  transfers.begin({ share: 'a', installation: '3' })
  t.throws(() => transfers.begin({ share: 'a', installation: '4' }), full)
  t.throws(() => transfers.begin({ share: 'b', installation: '4' }), full)
  t.throws(() => transfers.begin({ share: undefined, installation: '1' }), full)
  first.leave()
  first.leave()
  t.equal(transfers.many(), 2)
  transfers.begin({ share: undefined, installation: '4' })
  t.equal(transfers.many(), 3)
})

t.test('ends those of a version, and no other', async (t) => {
  const transfers = createTransfers(limits)
  const ended: string[] = []
  for (const version of ['1.0.0', '2.0.0']) {
    const transfer = transfers.begin({ share: undefined, installation: version })
    transfer.sends(version, () => {
      ended.push(version)
      transfer.leave()
    })
  }
  transfers.endOf('1.0.0')
  t.same([ended, transfers.many()], [['1.0.0'], 1])
})

t.test('where all places are taken, the address with most gives its newest to one that has two fewer', async (t) => {
  const transfers = createTransfers({ total: 4, perAddress: 4, retryMs: 9000 })
  const ended: string[] = []
  const begin = (share: string | undefined, name: string) => {
    const transfer = transfers.begin({ share })
    transfer.sends('1.0.0', () => {
      ended.push(name)
      transfer.leave()
    })
  }
  for (const name of ['a1', 'a2', 'a3', 'a4']) begin('a', name)
  begin('b', 'b1')
  begin('b', 'b2')
  t.same(ended, ['a4', 'a3'])
  t.throws(() => begin('b', 'b3'), full)
  t.throws(() => begin('a', 'a5'), full)
  begin('c', 'c1')
  t.same([ended.length, transfers.many()], [3, 4])
  const late = createTransfers({ total: 2, perAddress: 2, retryMs: 1 })
  late.begin({ share: 'a' })
  const lost = late.begin({ share: 'a' })
  late.begin({ share: 'b' })
  lost.sends('1.0.0', () => ended.push('lost'))
  t.equal(ended.at(-1), 'lost', 'one that lost its place before it was sent is ended then')
})
