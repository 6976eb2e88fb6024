import t from 'tap'
import {
  type DiskEvent,
  type DiskState,
  diskForNext,
  diskStateTable,
  eventOfRoom,
  faultOfDisk,
  floorOf,
  isReadable,
} from '../../../core/storage/disks.ts'

t.test('each event tells how a disk is, whatever it was; what hangs on a disk that is gone says nothing', async (t) => {
  const after: Record<DiskEvent, DiskState> = {
    ...{ answered: 'here', filled: 'full', refused: 'failing', overdue: 'stuck', missing: 'away', mistaken: 'foreign' },
  }
  for (const [state, row] of Object.entries(diskStateTable) as [DiskState, (typeof diskStateTable)[DiskState]][])
    for (const [event, next] of Object.entries(after) as [DiskEvent, DiskState][]) {
      const isGone = event === 'overdue' && (state === 'away' || state === 'foreign')
      const stays = isGone || (event === 'answered' && state === 'here') || (event === 'overdue' && state === 'stuck')
      t.equal(row[event] ?? state, stays ? state : next, `${state} ${event}`)
    }
  t.same(
    Object.keys(diskStateTable).filter((state) => isReadable(state as DiskState)),
    ['here', 'full', 'failing'],
  )
})

t.test(
  'the next file goes to the disk with most room, and without any to the one with the oldest footage',
  async (t) => {
    const disk = (name: string, roomBytes: number, oldestAt?: number, state: DiskState = 'here') => {
      return { name, state, roomBytes, oldestAt }
    }
    const small = disk('small', 10, 1)
    t.equal(diskForNext([small, disk('large', 20, 2)])?.name, 'large')
    t.equal(diskForNext([small, disk('gone', 20, 2, 'away')])?.name, 'small')
    t.equal(diskForNext([disk('new', -5, 9), disk('old', -9, 3), disk('none', -1)])?.name, 'old')
    t.equal(diskForNext([disk('full', 50, 1, 'full')]), undefined)
  },
)

t.test('a disk is full below 32 MiB, a small one below a tenth, and not again until there is that much', async (t) => {
  const GB = 1e9
  t.same(
    [10e6, 20e6, 34e6].map((free) => eventOfRoom(free, 500 * GB)),
    ['filled', undefined, 'answered'],
  )
  t.equal(eventOfRoom(4e6, 30e6), 'answered')
  t.equal(floorOf(2 * GB, 500 * GB), 2 * GB)
  t.equal(floorOf(0, 30e6), 3e6)
})

t.test('what is wrong with a disk says which and what to do', async (t) => {
  t.equal(faultOfDisk('/mnt/one', 'here', ''), undefined)
  t.match(faultOfDisk('/mnt/one', 'failing', 'EROFS'), { code: 'disk_failing', message: /\/mnt\/one.*read-only/ })
  t.match(faultOfDisk('/mnt/one', 'failing', 'EIO'), { message: /EIO/ })
  for (const state of ['full', 'stuck', 'away', 'foreign'] as const)
    t.match(faultOfDisk('/mnt/one', state, ''), { code: `disk_${state}`, message: /\/mnt\/one/ })
})
