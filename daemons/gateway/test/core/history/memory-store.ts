/** A history in memory instead of on a disk. */
import { Fault } from '#kit/pure/fault.ts'
import type { HistoryBlock, HistoryStore, KnownSeries } from '../../../core/history/disk.ts'

export function memoryStore() {
  const series = new Map<number, KnownSeries>()
  const blocks: HistoryBlock[] = []
  const state = { isFull: false, writes: 0, bytes: 0 }
  const store: HistoryStore = {
    load: async () => ({ series: [...series.values()], lastId: blocks.at(-1)?.id ?? 0 }),
    async write(newSeries, newBlocks) {
      if (state.isFull) throw new Fault('store_write_failed', 'history.db was not written: the disk is full')
      state.writes++
      for (const one of newSeries) series.set(one.id, one)
      blocks.push(...newBlocks)
      for (const { data } of newBlocks) state.bytes += data.length
    },
    async trim(beforeAt) {
      while (blocks[0] && blocks[0].at < beforeAt) blocks.shift()
    },
    async read({ kind, port }, { at, from, id, to }) {
      return blocks
        .filter(
          (one) => one.port === port && one.kind === kind && one.at + one.slots * one.slotMs > from && one.at < to,
        )
        .filter((one) => one.at > at || (one.at === at && one.id > id))
        .sort((a, b) => a.at - b.at || a.id - b.id)
        .slice(0, 2)
    },
    close: async () => {},
  }
  return { ...store, state, blocks }
}
