/** How numbers stand in texts: rounded towards less when they are a claim. */
import type { SideCost } from '../domain/evaluation.js';

/** `67 %` of a share 0.6749, rounded down; one decimal below 10 %. */
export function atLeastPercent(share: number): string {
  const percent = share * 100;
  return percent < 10
    ? `${(Math.floor(percent * 10 + 1e-9) / 10).toFixed(1)} %`
    : `${Math.floor(percent + 1e-9)} %`;
}

/** Share of CPU time saved by a speed-up (base time divided by patch time): 1 - 1/speedup. */
export function savedShare(speedup: number): number {
  return 1 - 1 / speedup;
}

/** `5.09x`: three significant digits. */
export function ratio(value: number): string {
  return `${significant(value)}x`;
}

/** `0.230 ms`, three significant digits. */
export function milliseconds(value: number): string {
  return `${significant(value)} ms`;
}

/** A side cost's figure in its unit: `3.06 ms`, for memory `55 MiB`. */
export function costFigure(cost: SideCost['cost'], value: number): string {
  return cost === 'peak-memory' ? `${value.toFixed(0)} MiB` : milliseconds(value);
}

/** `$0.0123` below one cent's precision, else `$1.23`. */
export function dollars(value: number): string {
  if (value === 0) return '$0';
  return value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

/** `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** `2026-11-30 19:57 UTC`. */
export function moment(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function significant(value: number): string {
  if (!Number.isFinite(value)) return '∞';
  if (value >= 1000) return value.toFixed(0);
  return value === 0 ? '0' : value.toPrecision(3);
}
