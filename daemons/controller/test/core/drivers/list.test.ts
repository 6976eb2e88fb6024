import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { shippedSets } from '#kit/test/device/shipped-sets.ts'
import { createDrivers } from '../../../core/drivers/list.ts'

const rowOf = (path: string, begin: string) =>
  readFileSync(join(import.meta.dirname, '../../../../../docs', path), 'utf8')
    .split('\n')
    .find((line) => line.startsWith(begin)) ?? ''

t.test('the documents that explain an unknown driver name every known one', async (t) => {
  const told = [rowOf('ERRORS.md', '| `driver_unknown`'), rowOf('controller.md', '- Devices of other drivers than')]
  for (const { name } of createDrivers(shippedSets()))
    for (const line of told) t.match(line, new RegExp(`\\b${name}\\b`))
})
