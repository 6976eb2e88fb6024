import t from 'tap'
import { createTransfers } from '../../../core/releases/transfers.ts'

const limits = { total: 3, perAddress: 2, perInstallation: 1, retryMs: 9000 }
const full = { code: 'too_many_downloads', details: { retryAfterMs: 9000 } }

t.test('bounds those in all, of an address and of an installation; who leaves makes room, once', async (t) => {
  const transfers = createTransfers(limits)
  const first = transfers.begin({ share: 'a', installation: '1' })
  t.throws(() => transfers.begin({ share: 'b', installation: '1' }), full)
  transfers.begin({ share: 'a', installation: '2' })
  t.throws(() => transfers.begin({ share: 'a', installation: '3' }), full)
  transfers.begin({ share: undefined, installation: '3' })
  t.throws(() => transfers.begin({ share: 'b', installation: '4' }), full)
  first.leave()
  first.leave()
  t.equal(transfers.many(), 2)
  transfers.begin({ share: 'b', installation: '4' })
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
