// Visits of our library, a day each.
const VISITS = [
  { day: 'Monday', visits: 120 },
  { day: 'Tuesday', visits: 95 },
  { day: 'Wednesday', visits: 160 },
  { day: 'Thursday', visits: 0 },
  { day: 'Friday, from eight in the morning to ten at night', visits: 240 },
];
