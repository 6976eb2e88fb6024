/** Memory that each daemon may hold by its settings: the table of its chapter, and what its unit must allow. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defaultSettings, type MemorySum, sumOfMemory } from '#kit/config/memory.ts'

/** With the default settings. */
export async function memorySum(root: string, daemon: string): Promise<MemorySum> {
  const { config, memory } = await import(pathToFileURL(join(root, `daemons/${daemon}/config.ts`)).href)
  return sumOfMemory(memory(), defaultSettings(config))
}

/** A table of memory, and one of threads and processes. */
export function memoryTable({ lines, allBytes, heapBytes, memoryMaxMib, tasks, tasksMax }: MemorySum): string {
  const rows = lines.map(({ what, of, eachBytes, allBytes: all, settings }) => {
    const share = eachBytes === undefined ? '' : `${sizeText(eachBytes)} for each ${of}`
    return `| ${what} | ${share} | ${sizeText(all)} | ${settings.map((name) => `\`${name}\``).join(', ')} |`
  })
  const threads = Object.entries(tasks).map(([what, many]) => `| ${what} | ${many} |`)
  return [
    '| what is held | of one | in all | follows from |',
    '|---|---|---|---|',
    ...rows,
    `| **sum** | | **${sizeText(allBytes)}** | |`,
    '',
    `\`MemoryMax=${memoryMaxMib}M\`: the sum, or twice what lies on the heap of V8 (${sizeText(heapBytes)}), whichever is more.`,
    '',
    '| threads and processes | at most |',
    '|---|---|',
    ...threads,
    '',
    `\`TasksMax=${tasksMax}\`: these, and some that libraries start for a moment.`,
  ].join('\n')
}

/** Values of the units that do not follow from the settings, and rows whose test does not exist; one line each. */
export async function memoryFaults(root: string, daemons: readonly string[]): Promise<string[]> {
  const faults: string[] = []
  for (const daemon of daemons) {
    const sum = await memorySum(root, daemon)
    const unit = `systemd/plantroom-${daemon}.service`
    const text = existsSync(join(root, unit)) ? readFileSync(join(root, unit), 'utf8') : ''
    for (const line of [`MemoryMax=${sum.memoryMaxMib}M`, `TasksMax=${sum.tasksMax}`])
      if (!text.split('\n').includes(line)) faults.push(`${unit}: by the settings of the ${daemon} it must say ${line}`)
    for (const { what, shownBy } of sum.lines)
      if (shownBy !== undefined && !existsSync(join(root, shownBy)))
        faults.push(`daemons/${daemon}/core/memory.ts: '${what}' is shown by ${shownBy}, which is not there`)
  }
  return faults
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  const [size, unit] = bytes < 1_048_576 ? [bytes / 1024, 'KiB'] : [bytes / 1_048_576, 'MiB']
  return `${size >= 10 ? Math.round(size) : Number(size.toFixed(1))} ${unit}`
}
