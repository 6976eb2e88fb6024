/** Processor time of work, independent of other load on the machine. */

/** Processor time that this thread takes for `work`, in ms. */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
