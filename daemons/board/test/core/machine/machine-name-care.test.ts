import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { keepMachineName } from '../../../core/machine/network.ts'

t.test('the machine gets its name if it has another one, and is left alone otherwise', async (t) => {
  const names: string[] = []
  const keep = (present: string, wanted: string) =>
    keepMachineName({ log: silentLog, present, wanted, setName: async (name) => names.push(name) })
  t.equal(await keep('Board-7', 'board-7'), undefined)
  t.same(names, [])
  t.equal(await keep('board-7', 'lobby'), undefined)
  t.same(names, ['lobby'])
})

t.test('a machine that does not accept its name is reported in a sentence', async (t) => {
  const setName = () => Promise.reject(new Error('nobody answers'))
  const trouble = await keepMachineName({ log: silentLog, present: 'board-7', wanted: 'lobby', setName })
  t.equal(trouble, 'The machine is still called board-7: nobody answers.')
})
