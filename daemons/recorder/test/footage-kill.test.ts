/** Footage outlives a kill at any instant. footage-kill.measure.test.ts does it a hundred times, and cuts the power. */
import t from 'tap'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { judged, judgeGroups, startWriter, type TakenGroup } from './footage-cuts.ts'

const KILLS = 5

t.test('a process that is killed at any instant loses no group that the disk took', async (t) => {
  const root = stateFolderOf(t)
  const taken: TakenGroup[] = []
  for (let at = 0; at < KILLS; at++) {
    const writer = startWriter(root, 1000)
    await writer.wrote(15 + at * 17)
    await writer.kill()
    taken.push(...writer.taken())
  }
  const { groups } = await judged(t, root)
  t.ok(taken.length >= 200)
  judgeGroups(t, groups, taken)
})
