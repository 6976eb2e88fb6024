/** Reads a new password: from a terminal without echo, or the first line of piped input. */
import { Fault } from '#kit/pure/fault.ts'

const LONGEST_INPUT = 1024
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const DELETE = '\u007f'

/** @throws Fault `password_not_read` if there is none, if the two differ, or on Ctrl-C */
export async function readPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) return readFirstLine()
  const first = await ask(`${question}: `)
  const again = await ask('Once more: ')
  if (first !== again) throw new Fault('password_not_read', 'the two are not the same')
  return first
}

async function readFirstLine(): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    text += chunk
    if (text.includes('\n') || text.length > LONGEST_INPUT) break
  }
  const [line = ''] = text.split('\n')
  if (line === '') throw new Fault('password_not_read', 'expected the password on standard input')
  return line.replace(/\r$/, '')
}

/** Reads one line from a terminal in raw mode: nothing is echoed, so editing keys are handled here. */
function ask(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve, reject) => {
    let text = ''
    let isEnded = false
    function end(answer: () => void): void {
      isEnded = true
      stdin.off('data', onText)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      answer()
    }
    function onText(chunk: string): void {
      const signs = [...chunk]
      while (signs.length > 0 && !isEnded) {
        const sign = signs.shift()
        if (sign === '\r' || sign === '\n') end(() => resolve(text))
        else if (sign === CTRL_C || sign === CTRL_D)
          end(() => reject(new Fault('password_not_read', 'nothing was changed')))
        else if (sign === DELETE || sign === '\b') text = [...text].slice(0, -1).join('')
        else if (text.length < LONGEST_INPUT) text += sign
      }
      // Text typed or pasted ahead belongs to the next question.
      if (signs.length > 0) stdin.unshift(signs.join(''))
    }
    stdin.on('data', onText)
  })
}
