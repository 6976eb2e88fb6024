/** A simulated weighing scale on a raw line: reports its weight, and accepts a zero command. */
import type { Pty } from '#native/serial/index.ts'

const REPORT_MS = 2000
const MOST_HELD = 64

/** Starts reporting at once. @returns stops it */
export function startScale(pty: Pty): () => void {
  let zeroKg = 0
  let turn = 0
  let held = ''

  const say = (text: string) => void pty.write(Buffer.from(`${text}\r\n`, 'latin1')).catch(() => {})
  const weightKg = () => 12.5 + Math.sin(turn / 7) * 4 - zeroKg

  function obey(command: string): void {
    if (command === 'Z') {
      zeroKg = 12.5
      say('ZERO OK')
    } else if (command === 'W') say(report(weightKg()))
    else say('ERR')
  }

  pty.onBytes((bytes) => {
    const lines = (held + Buffer.from(bytes).toString('latin1')).split(/\r?\n/)
    held = (lines.pop() ?? '').slice(-MOST_HELD)
    for (const line of lines) obey(line)
  })
  const timer = setInterval(() => {
    turn++
    say(report(weightKg()))
  }, REPORT_MS)
  return () => clearInterval(timer)
}

function report(weightKg: number): string {
  return `ST,GS,${weightKg < 0 ? '-' : '+'}${Math.abs(weightKg).toFixed(1).padStart(7, ' ')}kg`
}
